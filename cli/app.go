package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
)

// App is a command with spiders. Make one with [New], add to it what it has, then call Main, or Run as often as you like. Its
// mistakes, such as two spiders of one name, are reported by Run with exit code 2. It must not be changed while it runs.
type App struct {
	defs     []Definition
	settings []func(*tegenaria.Settings)
	engine   []func(*Run) ([]tegenaria.EngineOption, error)
	commands []*cobra.Command
	parts    []Part
	ask      time.Duration // between two looks at --stop-if
	columns  func(io.Writer) int
}

// New makes an App of spiders that have no arguments. [App.Add] adds others.
func New(spiders ...tegenaria.SpiderInterface) *App {
	a := &App{ask: 10 * time.Second, columns: columnsOf}
	for _, s := range spiders {
		a.defs = append(a.defs, fixed(s))
	}
	return a
}

// Main is the main func of a program with these spiders: it runs the command that the arguments of the process name and ends the
// process with its exit code. See [App] for more than spiders.
func Main(spiders ...tegenaria.SpiderInterface) { New(spiders...).Main() }

// Add adds spiders with arguments, see [Define].
func (a *App) Add(definitions ...Definition) { a.defs = append(a.defs, definitions...) }

// Settings edits the defaults of the project, which file and flags override. It may be called several times.
func (a *App) Settings(edit func(s *tegenaria.Settings)) { a.settings = append(a.settings, edit) }

// Engine gives the engines of all commands options: pipelines, middlewares and whatever else. The func is called once for each
// engine. Without one, an engine has middleware.Standard. It may be called several times.
func (a *App) Engine(options func(run *Run) ([]tegenaria.EngineOption, error)) {
	a.engine = append(a.engine, options)
}

// Commands adds commands of your own. The writers and the context of Run are those of the command: cmd.OutOrStdout(), cmd.Context().
func (a *App) Commands(commands ...*cobra.Command) { a.commands = append(a.commands, commands...) }

// With adds parts.
func (a *App) With(parts ...Part) { a.parts = append(a.parts, parts...) }

// Main runs the command that the arguments of the process name, and ends the process with its exit code. The first SIGINT (Ctrl-C) or
// SIGTERM stops a crawl gracefully, the second one cancels the work in hand; SIGHUP does that at once.
func (a *App) Main() {
	ctx, name := context.Background(), strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		var end func()
		ctx, end = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer end()
	}
	os.Exit((&call{app: a, name: name, signals: true, in: os.Stdin, out: os.Stdout, err: os.Stderr}).run(ctx, os.Args[1:]))
}

// Run runs the command that the arguments name, without the name of the program, and returns the exit code. Items and whatever else is
// data go to out, logs and errors to err. When ctx ends, so does the crawl. Signals are left alone. Runs of one App must not overlap.
func (a *App) Run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	return (&call{app: a, name: "tegenaria", in: in, out: out, err: err}).run(ctx, args)
}

// call is one run of an App.
type call struct {
	app      *App
	name     string // of the program
	signals  bool   // crawls obey them
	in       io.Reader
	out, err io.Writer
	config   string    // the flag --config
	progress *progress // of a crawl; nil if none is shown
	silent   func()    // ends the words of the command
}

func (c *call) run(ctx context.Context, args []string) int {
	c.speak(nil)
	defer func() { c.silent() }()
	root, err := c.root()
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	var done *doneError
	switch {
	case err == nil:
		return codeFinished
	case errors.As(err, &done): // it has said what there is to say
		return done.code
	}
	fmt.Fprintf(c.err, "%s: %s\n", c.name, c.message(err))
	return codeOf(err)
}

// mistakes lists the mistakes of the program.
func (a *App) mistakes() error {
	var errs []error
	known := make(map[string]bool)
	for _, d := range a.defs {
		if d.mistake != nil {
			errs = append(errs, d.mistake)
		}
		if d.name != "" && known[d.name] {
			errs = append(errs, fmt.Errorf("there are two spiders named %q", d.name))
		}
		known[d.name] = true
	}
	for i, part := range a.parts {
		if part == nil {
			errs = append(errs, fmt.Errorf("App.With: part %d is nil", i+1))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &usageError{err}
	}
	return nil
}

// root makes the command with all below it.
func (c *call) root() (*cobra.Command, error) {
	if err := c.app.mistakes(); err != nil {
		return nil, err
	}
	root := c.group(c.name, "crawl with the spiders of this program")
	root.Long = "Crawls with the spiders of this program, judges the result by rules, and ends with an exit code that tells the truth.\n\n" +
		"Exit codes: 0 finished, 1 failed, 2 wrong usage or settings, 3 stopped before the end, 4 a rule is broken, 5 the " +
		"job was finished before."
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.PersistentFlags().StringVar(&c.config, "config", "", "settings `FILE` (default tegenaria.yaml of this directory or one above it)")
	root.SetHelpCommand(c.helpCommand())
	root.AddCommand(c.crawlCommand(), c.listCommand(), c.describeCommand(), c.settingsCommand(), c.versionCommand(),
		c.fetchCommand(), c.viewCommand(), c.parseCommand(), c.checkCommand(), c.shellCommand(), c.jobsCommand(), c.runsCommand(), c.ctlCommand(), c.topCommand(), c.cacheCommand(), c.changesCommand(), c.reparseCommand(),
		c.newCommand())
	root.AddCommand(c.app.commands...)
	for _, part := range c.app.parts {
		root.AddCommand(part.Commands()...)
	}
	root.InitDefaultCompletionCmd()
	for _, cmd := range allBelow(root) {
		if cmd.Name() == "completion" && cmd.Parent() == root { // that of cobra takes any shell, and says nothing
			group := c.group("", "")
			cmd.Args, cmd.RunE = group.Args, group.RunE
		}
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return c.flagError(cmd, err) })
	}
	return root, nil
}

// allBelow returns a command and all below it.
func allBelow(cmd *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		list = append(list, allBelow(child)...)
	}
	return list
}

// group makes a command that has others and does nothing itself.
func (c *call) group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, child := range cmd.Commands() {
				if child.IsAvailableCommand() {
					names = append(append(names, child.Name()), child.Aliases...)
				}
			}
			return usagef("there is no command %q%s; %s -h lists the commands", cmd.CommandPath()+" "+args[0], meant(args[0], names), cmd.CommandPath())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}
