package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// crawlFlags are the flags of the command crawl.
type crawlFlags struct {
	given
	appended, overwritten []string
	expect, stopIf        []string
	job, result           string
	ifFinished            string
	stopOK, emptyOK       bool
	history, key          string
	log                   logFlags
}

func (f *crawlFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.appended, "output", "o", nil,
		"`FILE` that items are appended to, in the format of its ending; - for lines of JSON on the standard "+
			"output, which is the default; may be repeated")
	flags.StringArrayVarP(&f.overwritten, "overwrite", "O", nil, "`FILE` for the items, emptied first; may be repeated")
	flags.StringArrayVarP(&f.args, "arg", "a", nil, "argument of the spider, `NAME=VALUE`; may be repeated")
	flags.StringArrayVarP(&f.sets, "set", "s", nil, "setting, `NAME=VALUE` such as politeness.delay=1s; may be repeated")
	flags.StringVar(&f.job, "job", "", "`DIR` that keeps the crawl, so that the same command resumes it, whatever has ended it")
	f.addCache(flags,
		"`DIR` that keeps the pages, so that the next crawl gets them from there, without requests and delays; see "+
			"the command cache")
	f.addCachePolicy(flags)
	f.addProxies(flags)
	flags.StringVar(&f.history, "history", "",
		"`DIR` that keeps the items from crawl to crawl, and what has changed since the last one; see the command changes. "+
			"Each page is asked for only if it has changed, unless --cache-policy says otherwise")
	flags.StringVar(&f.key, "key", "",
		"of --history: `FIELD` that tells items apart, the same in each crawl, such as sku (default: the field with the tag "+
			"key:\"true\", or else the URL of the page)")
	flags.StringVar(&f.ifFinished, "if-finished", "",
		"what is done if the --job was finished before: ok ends with exit code 0, fresh begins the job anew; "+
			"without this `CHOICE` the exit code is 5")
	flags.StringArrayVar(&f.limits, "limit", nil,
		"bound of the crawl, `NAME=VALUE` such as pages=100, items=50 or time=10m; may be repeated")
	flags.StringArrayVar(&f.expect, "expect", nil,
		"`RULE` about all runs of the job that holds at the end, such as 'item_scraped >= 900'; else the exit code "+
			"is 4; may be repeated")
	flags.StringArrayVar(&f.stopIf, "stop-if", nil,
		"`RULE`, asked every 10 s, that ends the crawl with exit code 4 once it holds; may be repeated")
	flags.StringVar(&f.result, "result", "", "`FILE` for exit code, reason and summary, as JSON")
	flags.BoolVar(&f.stopOK, "stop-ok", false, "a crawl that a limit has ended has the exit code 0, and is judged")
	flags.BoolVar(&f.emptyOK, "empty-ok", false, "a crawl that got no page, or whose parsers all failed, has the exit code 0")
	f.log.add(flags)
}

// crawlCommand makes the command crawl, with a command below it for each spider, so that the spiders' arguments are flags.
func (c *call) crawlCommand() *cobra.Command {
	f, site := &crawlFlags{}, &siteFlags{}
	cmd := &cobra.Command{
		Use: "crawl SPIDER|URL...", Aliases: []string{"run"}, Short: "crawl with a spider, or the sites of URLs",
		Long: "Crawls with a spider of this program. Its arguments are flags of their own, see crawl SPIDER -h.\n\n" +
			"The command tegenaria also takes the Go file of a program with spiders, directly after crawl: it builds the program, and " +
			"crawls with its spider. If there are several the next word names one: tegenaria crawl spiders.go quotes.\n\n" +
			"With URLs it crawls their sites, politely, by links, redirects, refreshes and, with --sitemaps, " +
			"sitemaps. The items are the pages, with url, final_url, status, depth, title, words and links. " +
			"A user and password in a URL are a login for its origin, and stand in no output.\n\n" + c.app.formats(),
		Example: "  " + c.name + " crawl quotes -O quotes.jsonl\n" +
			"  " + c.name + " crawl quotes --job job -o quotes.csv --limit time=1h --stop-ok\n" +
			"  " + c.name + " crawl quotes -s politeness.delay=1s --expect 'item_scraped >= 100'\n" +
			"  " + c.name + " crawl quotes --cache .tegenaria/cache -O quotes.jsonl\n" +
			"  " + c.name + " crawl quotes --history history -O quotes.jsonl\n" +
			"  " + c.name + " crawl https://example.com/ --depth 2 -O pages.jsonl\n" +
			"  tegenaria crawl spider.go -O items.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("crawl needs the name of a spider, or URLs; %s list names the spiders", c.name)
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if isURL(args[0]) {
				return c.crawlSite(cmd, f, site, args)
			}
			def, err := c.app.definition(args[0])
			if err != nil && strings.HasSuffix(args[0], ".go") {
				return usagef("%s is a Go file: tegenaria crawl %[1]s runs it, the file directly after crawl", printable(args[0]))
			}
			if err != nil && strings.ContainsAny(args[0], ".:/") { // a URL without its scheme
				return cmp.Or(checkURL(args[0]), err)
			}
			if err := cmp.Or(site.refuse(cmd), err); err != nil {
				return err
			}
			return c.crawlSpider(cmd, f, def, args[1:])
		},
	}
	f.add(cmd.PersistentFlags())
	site.add(cmd.Flags())
	for _, part := range c.app.parts {
		part.Flags(cmd.PersistentFlags())
	}
	c.completeCrawl(cmd, f)
	for i := range c.app.defs {
		if def := &c.app.defs[i]; !strings.ContainsAny(def.name, " \t\n") {
			cmd.AddCommand(c.spiderCommand(cmd.PersistentFlags(), f, def))
		}
	}
	return cmd
}

// formats lists the endings of outputs.
func (a *App) formats() string {
	var b strings.Builder
	b.WriteString("Formats by the ending of the file:\n")
	for _, e := range a.endings() {
		if !isPacked(e.Suffix) {
			fmt.Fprintf(&b, "  %-9s %s\n", e.Suffix, e.Help)
		}
	}
	b.WriteString("The endings .jsonl, .json, .csv and .xml may be followed by .gz or .zst, .warc by .gz.")
	return b.String()
}

// spiderCommand makes the command that crawls with one spider. shared are the flags of the commands of all spiders.
func (c *call) spiderCommand(shared *pflag.FlagSet, f *crawlFlags, def *Definition) *cobra.Command {
	cmd := &cobra.Command{
		Use: def.name, Short: def.help,
		ValidArgsFunction: cobra.NoFileCompletions,
		Args:              func(*cobra.Command, []string) error { return nil },
		RunE:              func(cmd *cobra.Command, args []string) error { return c.crawlSpider(cmd, f, def, args) },
	}
	for _, a := range def.args {
		if shared.Lookup(a.name) != nil || a.name == "help" || a.name == "config" {
			continue // -a alone
		}
		typ := setting.TypeName(a.typ)
		if a.typ.Kind() == reflect.Bool {
			typ = "bool" // pflag leaves it out of the help
		}
		flag := cmd.Flags().VarPF(&argumentFlag{a.def, typ}, a.name, "", a.help)
		if typ == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	return cmd
}

// argumentFlag is a flag for an argument, which is checked with the others.
type argumentFlag struct{ text, typ string }

func (a *argumentFlag) String() string { return a.text }

func (a *argumentFlag) Set(text string) error { a.text = text; return nil }

func (a *argumentFlag) Type() string { return a.typ }

func (c *call) crawlSpider(cmd *cobra.Command, f *crawlFlags, def *Definition, rest []string) error {
	if len(rest) > 0 {
		if _, err := c.app.definition(rest[0]); err == nil {
			return usagef("crawl takes one spider at a time, and was given %s and %s", def.name, rest[0])
		}
		return usagef("%q belongs to no flag; arguments of a spider are given as -a NAME=VALUE", urlx.Redact(rest[0]))
	}
	c.speak(map[remedy.Setting]string{remedy.EmptyOK: "--empty-ok"})
	f.named = make(map[string]string)
	for _, a := range def.args {
		if flag := cmd.LocalNonPersistentFlags().Lookup(a.name); flag != nil && flag.Changed {
			f.named[a.name] = flag.Value.String()
		}
	}
	return c.crawl(cmd, f, def, func(l *layers) (tegenaria.SpiderInterface, task, error) {
		spider, err := def.of(l)
		return spider, taskOf(def, l), err
	})
}

// crawl crawls with a spider, and writes the result, however it ends. def is nil for a spider that is none of the program's.
func (c *call) crawl(cmd *cobra.Command, f *crawlFlags, def *Definition,
	spider func(*layers) (tegenaria.SpiderInterface, task, error), first ...tegenaria.EngineOption) (err error) {
	result := &result{path: f.result}
	if f.result != "" {
		if err := result.begin(); err != nil {
			return &usageError{fmt.Errorf("--result: %w", err)}
		}
	}
	defer func() {
		err = errors.Join(err, result.write(err))
		if keepErr := result.keep(err); keepErr != nil {
			fmt.Fprintf(c.err, "%s: this run is not kept, see the command runs: %s\n", c.name, c.message(keepErr))
		}
	}()

	if f.emptyOK {
		f.flags = append(f.flags, entry{path: []string{"empty_ok"}, text: "true", origin: "flag --empty-ok", where: "--empty-ok"})
	}
	l, layersErr := c.layers(def, f.given)
	expect, expectErr := newRules("--expect", f.expect)
	stopIf, stopErr := newRules("--stop-if", f.stopIf)
	outputs, outErr := c.app.outputs(f.appended, f.overwritten)
	if err := errors.Join(layersErr, expectErr, stopErr, outErr, f.log.check(), f.checkJob(), f.checkHistory()); err != nil {
		return &usageError{err}
	}
	s, task, err := spider(l)
	if err != nil {
		return &usageError{err}
	}
	var job *job
	if f.job != "" {
		job, err = c.openJob(f, &task)
		if before := (*finishedError)(nil); errors.As(err, &before) && f.ifFinished == finishedIsOK {
			result.before = true
			if !f.log.quiet {
				fmt.Fprintf(c.err, "%s: the job %s was finished before, which is allowed; nothing is crawled\n",
					c.name, printable(f.job))
			}
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, job.close(err)) }()
	}
	isSeen := c.app.columns(c.out) > 0
	if c.progress = c.newProgress(f.log.quiet); c.progress != nil {
		if isSeen {
			c.out = c.progress.above(c.out)
		}
		c.err = c.progress.above(c.err)
	}
	if isSeen {
		c.out = printableLines{c.out}
	}
	history, err := c.openHistory(f, l, &task)
	if err != nil {
		return err
	}
	var cache *httpcache.Cache
	if history != nil {
		defer func() { err = errors.Join(err, history.Close()) }()
		cache, err = c.openPages(f, l)
		history.pages.Cache = cache
	} else {
		cache, err = l.openCache("crawl")
	}
	if err != nil {
		return err
	}
	if cache != nil {
		defer func() { err = errors.Join(err, cache.Close()) }()
	}
	logger, logFile, err := f.log.open(c.err, c.progress != nil)
	if err != nil {
		return fmt.Errorf("--log-file: %w", err)
	}
	if logFile != nil {
		defer func() { err = errors.Join(err, logFile.Close()) }()
	}
	run, err := c.newRun(l, s, f.job, append([]tegenaria.EngineOption{tegenaria.EngineWithLogger(logger)}, first...)...)
	if err != nil {
		return err
	}
	run.stderr, run.logger = c.err, logger
	middlewares, err := l.middlewares(logger)
	if err != nil {
		return err
	}
	run.Add(middlewares)
	if f.log.given(cmd.Flags()) {
		run.Add(tegenaria.EngineWithLogger(logger))
	}
	if slices.ContainsFunc(append(expect[:len(expect):len(expect)], stopIf...), func(r *rule) bool { return r.fill }) {
		run.Add(tegenaria.EngineWithFieldCounts(true))
	}
	if f.log.quiet {
		run.Add(tegenaria.EngineWithQuiet())
	}
	if c.signals {
		run.Add(tegenaria.EngineWithSignals())
	}
	if job != nil {
		run.store = job.cache
		run.Add(tegenaria.EngineWithCache(job.cache))
	}
	if cache != nil {
		run.Add(tegenaria.EngineWithDownloaderLayers(cache.Layer))
		if !f.log.quiet {
			c.sayNotArchived(outputs)
		}
	}
	if err := c.app.addOutputs(run, outputs, c.out); err != nil {
		return err
	}
	if history != nil {
		run.Add(tegenaria.EngineWithPipelines(history.Changes(changesFeed(f.history))))
	}
	if err := l.add(run); err != nil {
		return err
	}
	result.engine = run.engine
	if result.folder, err = c.runFolder(); err != nil {
		return err
	}
	run.past = result.folder
	result.run = &pastRun{Spider: task.name(), Began: time.Now(), Job: f.job, Args: task.Args, Settings: changedSettings(run.engine, l)}
	err = c.judged(cmd.Context(), f, run, l, &task, expect, stopIf, result)
	if history != nil {
		err = errors.Join(err, c.sayChanged(history, f.log.quiet))
	}
	return err
}

// judged runs the crawl and judges it.
func (c *call) judged(ctx context.Context, f *crawlFlags, run *Run, l *layers, task *task, expect, stopIf []*rule, result *result) error {
	rules := append(expect[:len(expect):len(expect)], stopIf...)
	var past []tegenaria.Stats
	if slices.ContainsFunc(rules, func(r *rule) bool { return r.past }) {
		runs, err := readRuns(result.folder, task.name())
		if err != nil {
			return err
		}
		past = finishedStats(runs)
	}
	facts := func() facts { return facts{job: run.engine.JobStats(), run: run.engine.Stats(), past: past} }
	defer func() {
		for _, r := range rules {
			result.run.Rules = append(result.run.Rules, r.judged(facts()))
		}
	}()
	stopped, err := c.execute(ctx, run, l, stopIf, facts)
	var why *tegenaria.StoppedError
	switch isStopped := errors.As(err, &why); {
	case isStopped && stopped != nil && codeOf(err) == codeStopped:
		result.rules = append(result.rules, stopped.text)
		return &brokenError{fmt.Errorf("stopped: it holds that %s", stopped.text)}
	case isStopped && f.stopOK && codeOf(err) == codeStopped && strings.HasPrefix(why.Reason, "limit: "):
		fmt.Fprintf(c.err, "%s: stopped before the end, which is allowed: %s\n", c.name, printable(why.Reason))
	case isStopped && codeOf(err) == codeStopped && strings.HasPrefix(why.Reason, "limit: "):
		return fmt.Errorf("%w (with --stop-ok a limit is no failure)", err)
	case errors.Is(err, syscall.ENOSPC):
		return errors.Join(err, roomNeeded(f.job))
	case err != nil:
		return err
	}
	var broken []error
	for _, r := range expect {
		found := facts()
		if holds, err := r.holds(found); !holds {
			broken = append(broken, errors.New(r.broken(found, err)))
			result.rules = append(result.rules, r.text)
		}
	}
	if len(broken) > 0 {
		return &brokenError{errors.Join(broken...)}
	}
	return nil
}

// roomNeeded says what helps where the error before it names a file on a disk that is full.
func roomNeeded(job string) error {
	if job == "" {
		return errors.New("a disk is full: make room, and crawl again; with --job the crawl would go on where it was")
	}
	return errors.New("a disk is full: make room; the same command then goes on where the crawl was")
}

// execute starts the parts, runs the engine, and asks meanwhile whether a rule ends the crawl, which it returns then.
func (c *call) execute(ctx context.Context, run *Run, l *layers, stopIf []*rule, facts func() facts) (stopped *rule, err error) {
	for _, part := range c.app.parts {
		stop, startErr := part.Start(ctx, run)
		if stop != nil {
			defer func() { err = errors.Join(err, stop(context.WithoutCancel(ctx))) }()
		}
		if startErr != nil {
			return nil, startErr
		}
	}
	if err := l.add(run); err != nil { // again, over what parts have set
		return nil, err
	}
	over := make(chan struct{})
	var asking sync.WaitGroup
	if len(stopIf) > 0 {
		asking.Go(func() {
			ticker := time.NewTicker(c.app.ask)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
				case <-over:
					return
				}
				for _, r := range stopIf {
					if holds, err := r.holds(facts()); holds && err == nil {
						stopped = r
						_ = run.engine.Stop(ctx) // Run returns how it ended
						return
					}
				}
			}
		})
	}
	defer c.progress.follow(run.engine)() // deferred, so that a panic leaves no line behind
	err = run.engine.Run(ctx, run.spider.GetName())
	close(over)
	asking.Wait()
	return stopped, err
}
