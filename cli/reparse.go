package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/revisit"
)

// reparseFlags are the flags of the command reparse.
type reparseFlags struct {
	given
	files       []string
	key, format string
	fetch, keep bool
	log         logFlags
}

// reparseCommand makes the command that gives stored pages to a spider.
func (c *call) reparseCommand() *cobra.Command {
	f := &reparseFlags{}
	cmd := &cobra.Command{
		Use: "reparse DIR SPIDER", Short: "give the pages that a history has stored to a spider",
		Long: "Crawls with a spider on the pages that crawl --history DIR has stored, without the network, and shows how " +
			"the items differ from those of " +
			"the history. The history stays as it is, unless --keep is given. The outputs that the program has in its code get nothing.\n\n" +
			"The table has the fields that have changed, with the number of items and one of them. The format jsonl has a line for each item " +
			"that is new, changed or removed, as the command changes shows them; removed means that the crawl has not found the item. " +
			"The exit code is 0 whatever differs.\n\n" +
			"A page that is not stored ends as filtered, with the reason \"" + notStored + "\"; the first ones are named at the end. " +
			"robots.txt, delays and retries are left out, but for pages that --fetch asks for.",
		Example: "  " + c.name + " reparse history quotes\n  " + c.name + " reparse history quotes -O quotes.jsonl --keep",
		Args:    arguments(2, "the directory of a history, and the name of a spider"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return completeDir(cmd, args, text)
			}
			return c.completeSpiders(cmd, args[1:], text)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.reparse(cmd, f, args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "overwrite", "O", nil,
		"`FILE` for all items, in the format of its ending; the new one takes the place of the old one when the crawl has "+
			"come to its end; may be repeated")
	flags.StringArrayVarP(&f.args, "arg", "a", nil, "argument of the spider, `NAME=VALUE`; may be repeated")
	f.addSettings(cmd)
	f.addCache(flags, "`DIR` of the pages, where the crawl had a --cache (default: those of the history)")
	flags.StringVar(&f.key, "key", "", "`FIELD` that tells items apart, as the crawl had it")
	flags.StringVar(&f.format, "format", "table", "`FORMAT` of the differences: table or jsonl")
	flags.BoolVar(&f.fetch, "fetch", false, "ask the sites for pages that are not stored, politely, and store them")
	flags.BoolVar(&f.keep, "keep", false, "take the items over into the history, as a run of its own")
	f.log.add(flags)
	f.log.complete(cmd)
	completeCache(cmd)
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"table", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (c *call) reparse(cmd *cobra.Command, f *reparseFlags, dir, name string) (err error) {
	if isURL(name) {
		return usagef("reparse takes the name of a spider: what a crawl of URLs gives does not depend on selectors")
	}
	def, err := c.app.definition(name)
	if err != nil {
		return err
	}
	if f.format != "table" && f.format != "jsonl" {
		return usagef("--format is %q: it is table or jsonl", f.format)
	}
	l, layersErr := c.layers(def, f.given)
	files, filesErr := c.app.replacements(f.files)
	if err := errors.Join(layersErr, filesErr, f.log.check()); err != nil {
		return &usageError{err}
	}
	spider, err := def.of(l)
	if err != nil {
		return &usageError{err}
	}
	task := taskOf(def, l)
	arguments, err := task.arguments()
	if err != nil {
		return err
	}
	history, err := revisit.OpenExisting(dir, revisit.Options{KeyField: f.key, Arguments: arguments})
	if none := (*revisit.NotFoundError)(nil); errors.As(err, &none) {
		return usagef("%s is no history; crawl --history %[1]s makes one", dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, history.Close()) }()
	pages, err := openStored(dir, l, f.fetch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages.Close()) }()

	isSeen := c.app.columns(c.out) > 0
	if c.progress = c.newProgress(f.log.quiet); c.progress != nil {
		if isSeen {
			c.out = c.progress.above(c.out)
		}
		c.err = c.progress.above(c.err)
	}
	if isSeen && f.format == "jsonl" {
		c.out = printableLines{c.out}
	}
	logger, logFile, err := f.log.open(c.err, c.progress != nil)
	if err != nil {
		return fmt.Errorf("--log-file: %w", err)
	}
	if logFile != nil {
		defer func() { err = errors.Join(err, logFile.Close()) }()
	}
	run, err := c.newRun(l, spider, "", tegenaria.EngineWithLogger(logger))
	if err != nil {
		return err
	}
	run.stderr, run.logger = c.err, logger
	run.Add(tegenaria.EngineWithoutOutputs(), tegenaria.EngineWithCache(nil))
	if f.log.given(cmd.Flags()) {
		run.Add(tegenaria.EngineWithLogger(logger))
	}
	if f.log.quiet {
		run.Add(tegenaria.EngineWithQuiet())
	}
	if c.signals {
		run.Add(tegenaria.EngineWithSignals())
	}
	if err := l.add(run); err != nil {
		return err
	}
	var lacking lackingPages
	run.Add(tegenaria.EngineWithDownloaderLayers(pages.Layer))
	if !f.fetch {
		run.Add(tegenaria.EngineWithMiddlewares(lacking.middleware()), tegenaria.EngineWithSettings(func(s *tegenaria.Settings) {
			s.Politeness.IgnoreRobots, s.Limits.Attempts = true, 1
		}))
	}
	defer func() { err = errors.Join(err, files.remove()) }()
	if err := files.open(run); err != nil {
		return err
	}
	found := newDifferences(c.out, f.format == "jsonl")
	var comparison *revisit.Comparison
	if f.keep {
		if err := makeChanges(dir); err != nil {
			return err
		}
		run.Add(tegenaria.EngineWithPipelines(history.Changes(&toldFeed{changesFeed(dir), found.add})))
	} else {
		comparison = history.Compare(found.add)
		run.Add(tegenaria.EngineWithPipelines(comparison))
	}
	err = c.follow(cmd.Context(), run)
	lacking.say(c)
	if err != nil {
		return err
	}
	if err := files.replace(); err != nil {
		return err
	}
	if err := found.flush(f.keep); err != nil {
		return err
	}
	if f.log.quiet && !f.keep {
		return nil
	}
	return c.sayCompared(history, comparison, dir, f.log.quiet)
}

// follow runs the crawl, and shows how it goes.
func (c *call) follow(ctx context.Context, run *Run) error {
	defer c.progress.follow(run.engine)() // deferred, so that a panic leaves no line behind
	return run.engine.Run(ctx, run.spider.GetName())
}

// sayCompared says what the crawl has found; comparison is nil if the history has kept it.
func (c *call) sayCompared(h *revisit.History, comparison *revisit.Comparison, dir string, quiet bool) error {
	runs, err := h.Runs()
	if err != nil || len(runs) == 0 {
		return err
	}
	last := &runs[len(runs)-1]
	if comparison == nil {
		c.sayRun(dir, last, quiet)
		return nil
	}
	d := comparison.Found()
	fmt.Fprintf(c.err, "%s: compared with run %d of the history %s: %d same, %d changed, %d new, %d missing\n",
		c.name, last.Number, printable(dir), d.Same, d.Changed, d.New, d.Missing)
	if d.Clashes > 0 {
		fmt.Fprintf(c.err, "%s: %s another item of this crawl has the key, with other contents, and that one is compared\n",
			c.name, counted(int(d.Clashes), "time"))
	}
	if d.New > 0 && d.Missing > 0 && d.Same+d.Changed == 0 {
		fmt.Fprintf(c.err, "%s: no item has a key of the history: give the --key that the crawl had\n", c.name)
	}
	return nil
}

// toldFeed is the feed of the changes of a history, of which a func is told too.
type toldFeed struct {
	*feed.Feed
	tell func(revisit.Change) error
}

// ProcessItem is part of tegenaria.PipelinesInterface.
func (f *toldFeed) ProcessItem(spider tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	if err := f.Feed.ProcessItem(spider, item); err != nil {
		return err
	}
	return f.tell(item.Item.(revisit.Change))
}

// openStored opens the cache with the pages of a history. One without pages is wrong usage.
func openStored(dir string, l *layers, fetch bool) (*httpcache.Cache, error) {
	folder, policy := filepath.Join(dir, pagesFolder), httpcache.Replay
	if l.isCached("crawl") {
		folder = l.own.Cache.Folder
	}
	if fetch {
		policy = httpcache.Develop
	}
	none := usagef("there are no stored pages in %s: crawl --history %s stores them; if that crawl had a --cache, give "+
		"it here too", folder, dir)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, none
	}
	cache, err := httpcache.Open(folder, httpcache.Options{Policy: policy})
	if err != nil {
		return nil, err
	}
	if cache.Stats().Entries == 0 {
		return nil, errors.Join(none, cache.Close())
	}
	return cache, nil
}

// notStored is the reason of requests that end because their page is not stored.
const notStored = "not stored"

// lackingPages are the pages that are not stored.
type lackingPages struct {
	mu    sync.Mutex // guards the fields below
	count int
	first []string
}

// middleware ends their requests as filtered.
func (p *lackingPages) middleware() tegenaria.MiddlewaresInterface {
	return tegenaria.MiddlewareFuncs{Name: notStored, Priority: math.MaxInt, Error: func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
		if lacks := (*httpcache.NotStoredError)(nil); !errors.As(err, &lacks) {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.count++; len(p.first) < 10 {
			p.first = append(p.first, ctx.Request.Method+" "+urlx.Redact(ctx.Request.Url))
		}
		return tegenaria.IgnoreRequest(notStored)
	}}
}

// say names the first ones.
func (p *lackingPages) say(c *call) {
	if p.count == 0 {
		return
	}
	fmt.Fprintf(c.err, "%s: %s not stored; with --fetch the sites are asked for what is not stored\n", c.name, counted(p.count, "page"))
	for _, page := range p.first {
		fmt.Fprintf(c.err, "%s: not stored: %s\n", c.name, printable(page))
	}
	if more := p.count - len(p.first); more > 0 {
		fmt.Fprintf(c.err, "%s: and %d more\n", c.name, more)
	}
}
