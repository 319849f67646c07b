package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Part adds to a command what not every program wants to link: formats of outputs, services beside a crawl. The command tegenaria has one,
// for crawls of URLs. A Part serves one command at a time; its methods are called in this order.
type Part interface {
	// Flags adds flags to the command crawl. It is called for each run of an App, whatever the command, and sets the flags' defaults.
	Flags(flags *pflag.FlagSet)

	// Commands returns commands to add; they are made anew by each call.
	Commands() []*cobra.Command

	// Start is called before a crawl, when the engine has all but its last settings. It may add options to the run. stop, unless it is
	// nil, is called when the crawl is over, with a context that outlives the one of the crawl; it may block until what Start began
	// has ended. Its error makes the crawl fail, as that of Start does.
	Start(ctx context.Context, run *Run) (stop func(context.Context) error, err error)
}

// Ending is a format of outputs, chosen by the ending of a file's name.
type Ending struct {
	Suffix string // ".parquet"; the longest that fits is taken
	Help   string // a few words: "Parquet"
	// IsDatabase says that the file has more than the output, such as other tables, so that no new file may take its place.
	IsDatabase bool
	Open       func(run *Run, out Output) (tegenaria.EngineOption, error)
}

// Output is a file that a crawl writes to.
type Output struct {
	Path      string
	Overwrite bool // a new job empties it first; else it is appended to. A resumed job goes on after its last item in any case.
}

// EndingPart is an optional interface of parts.
type EndingPart interface {
	// Endings returns formats of outputs.
	Endings() []Ending
}

// Run is a crawl that a command is about to begin.
type Run struct {
	spider tegenaria.SpiderInterface
	args   any
	engine *tegenaria.SpiderEngine
	job    string
	stderr io.Writer
	logger *logrus.Logger
	layers *layers     // where settings have their values from
	store  *disk.Cache // of the durable job; nil: there is none
	past   string      // the folder of past runs
}

// Spider returns the spider. Commands that crawl without a spider of the program, such as settings, have one of their own.
func (r *Run) Spider() tegenaria.SpiderInterface { return r.spider }

// Args returns the arguments that the spider was made of, a value of the struct that [Define] was given:
//
//	if args, ok := run.Args().(ShopArgs); ok && args.Browser {
//
// It is nil if the spider has none, as those of [New].
func (r *Run) Args() any { return r.args }

// Engine returns the engine, which runs once Part.Start has returned.
func (r *Run) Engine() *tegenaria.SpiderEngine { return r.engine }

// Job returns the directory of the durable job, "" if there is none.
func (r *Run) Job() string { return r.job }

// Stderr is where the command writes what is no item and no log, above the line of its progress.
func (r *Run) Stderr() io.Writer { return r.stderr }

// Logger is that of the flags of the command crawl, such as --log-file.
func (r *Run) Logger() *logrus.Logger { return r.logger }

// IsSecret reports whether the value of a setting of the engine, such as "politeness.user_agent", is not to be shown: it came from a file
// of its own, or its name says so.
func (r *Run) IsSecret(setting string) bool {
	_, secret := r.layers.origin(setting)
	return hasSecret(setting, secret)
}

// Explain asks the durable job, which the crawl may be running on, for the request of a URL: it comes first, then those through which it
// was found. The error says why there is none: the job does not know it, no crawl can request the URL, or there is no durable job.
func (r *Run) Explain(ctx context.Context, url string) ([]dashboard.JobRequest, error) {
	if r.store == nil {
		return nil, errors.New("there is no durable job")
	}
	infos, err := r.store.ExplainURL(ctx, url)
	if err != nil {
		return nil, err
	}
	chain := make([]dashboard.JobRequest, len(infos))
	for i := range infos {
		l, err := jobLineOf(infos[i])
		if err != nil {
			return nil, err
		}
		chain[i] = dashboard.JobRequest{URL: l.URL, State: "ended", Why: infos[i].Why(), Depth: l.Depth, Attempt: l.Attempt, At: l.At}
		switch infos[i].State {
		case disk.Waiting:
			chain[i].State, chain[i].Why = "waiting", "waiting in the queue, or in flight"
		case disk.Delayed:
			chain[i].State = "waiting"
		}
	}
	return chain, nil
}

// PastRuns reads the runs that the command runs lists, the newest first. With an error it returns those that can be read.
func (r *Run) PastRuns() ([]dashboard.PastRun, error) {
	runs, err := readRuns(r.past, "")
	list := make([]dashboard.PastRun, 0, len(runs))
	for _, run := range slices.Backward(runs) {
		s := &run.Stats
		names := strings.Split(run.Spider, " ")
		for i, name := range names { // of a crawl of sites: their URLs
			names[i] = urlx.Redact(name)
		}
		list = append(list, dashboard.PastRun{ID: run.ID, Spider: strings.Join(names, " "), Began: run.Began, Elapsed: s.Elapsed, Pages: s.Responses, Items: s.ItemScraped,
			Errors: s.ErrorCount, Code: run.Code, Reason: run.Reason, Finished: run.Finished})
	}
	return list, err
}

// Add gives the engine further options. Those of the settings file and of flags come later, and win. A nil option is ignored.
func (r *Run) Add(options ...tegenaria.EngineOption) {
	for _, option := range options {
		if option != nil {
			option(r.engine)
		}
	}
}
