package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/cli/live"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/spiders"
)

// app is the command: that of package cli, with what crawls of URLs have here alone.
func app() *cli.App {
	a := cli.New()
	a.With(&sites{}, live.Part())
	return a
}

// sites is the part of crawls of URLs that the programs of projects do without, so that they link neither a browser nor databases: the flag
// --render, and outputs that are Parquet files and SQLite databases.
type sites struct {
	render  render
	browser browser.Options
}

var _ cli.EndingPart = (*sites)(nil)

// render says which pages a browser makes: never, auto or always.
type render string

// String is part of pflag.Value.
func (r *render) String() string { return string(*r) }

// Type is part of pflag.Value.
func (*render) Type() string { return "string" }

// Set is part of pflag.Value.
func (r *render) Set(text string) error {
	if text != "never" && text != "auto" && text != "always" {
		return errors.New("it must be never, auto or always")
	}
	*r = render(text)
	return nil
}

// Flags is part of cli.Part.
func (s *sites) Flags(flags *pflag.FlagSet) {
	s.render = "never"
	flags.Var(&s.render, "render", "`WHEN` Chromium makes a page: never, auto (if the page looks as if its scripts have "+
		"yet to make it) or always")
}

// Commands is part of cli.Part.
func (*sites) Commands() []*cobra.Command { return nil }

// Start is part of cli.Part. Chromium is found before the crawl begins, and is not looked for if nothing is to be rendered.
func (s *sites) Start(_ context.Context, run *cli.Run) (stop func(context.Context) error, err error) {
	if s.render == "never" {
		return nil, nil
	}
	chromium, err := browser.Open(s.browser)
	if err != nil {
		return nil, fmt.Errorf("--render %s: %w", s.render, inWords(err))
	}
	run.Engine().RegisterDownloader("browser", chromium)
	if s.render == "auto" {
		run.Add(tegenaria.EngineWithMiddlewares(browser.Adaptive(browser.AdaptiveOptions{})))
		return nil, nil
	}
	run.Add(tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "render", Request: func(ctx *tegenaria.Context) error {
		tegenaria.RequestWithDownloader("browser")(ctx.Request)
		return nil
	}}))
	return nil, nil
}

// inWords says what the command line can do where package browser names options for programs.
func inWords(err error) error {
	if _, missing := errors.AsType[*browser.NotInstalledError](err); missing {
		return errors.New("found no Chromium: install it (Debian: apt-get install chromium-headless-shell) in a folder of PATH")
	}
	if _, root := errors.AsType[*browser.RootError](err); root {
		return errors.New("the sandbox of Chromium does not work for root: run the command as another user")
	}
	return err
}

// Endings is part of cli.EndingPart. All items are pages, since the command has no spiders of its own.
func (*sites) Endings() []cli.Ending {
	return []cli.Ending{
		{Suffix: ".parquet", Help: "Parquet; never appended to: a new file, or -O", Open: openParquet},
		{Suffix: ".db", Help: "an SQLite database, with the table pages", IsDatabase: true, Open: openDatabase},
	}
}

// openParquet does not append: a file of Parquet has an end.
func openParquet(_ *cli.Run, out cli.Output) (tegenaria.EngineOption, error) {
	var how []parquet.Option
	if out.Overwrite {
		how = append(how, parquet.Overwrite())
	}
	return tegenaria.EngineWithPipelines(parquet.New[spiders.SitePage](out.Path, how...)), nil
}

func openDatabase(_ *cli.Run, out cli.Output) (tegenaria.EngineOption, error) {
	how := sqlite.Append()
	if out.Overwrite {
		how = sqlite.Overwrite()
	}
	return tegenaria.EngineWithPipelines(sqlite.New[spiders.SitePage](out.Path, sqlite.Table("pages"), how)), nil
}
