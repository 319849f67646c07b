package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli/internal/shell"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

func (c *call) shellCommand() *cobra.Command {
	var g given
	var url string
	cmd := &cobra.Command{
		Use: "shell [URL|PAGE]", Short: "try selectors on a page",
		Long: "Tries selectors on a page, one command in a line: css article | css h3 a | links. The command help lists the others. " +
			"A URL is fetched as a crawl of this program would, whatever its status; cookies, delays and robots.txt are those " +
			"of one crawl for all pages that are fetched. A PAGE is a file, read offline.\n\n" +
			"At a terminal lines can be edited, Tab completes the names of this page, and earlier lines are found with Ctrl-R. " +
			"Else it reads a script from the standard input; the first command that fails ends that, with the exit code 1.",
		Example: "  " + c.name + " shell https://quotes.example/\n" +
			"  echo 'css h1::text' | " + c.name + " shell page.html",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes a URL or a file, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			if url != "" && !isURL(url) {
				return usagef("--url %q: write it as https://host/path", urlx.Redact(url))
			}
			if url != "" && (len(args) == 0 || isURL(args[0])) {
				return usagef("--url is for a page from a file; leave it out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.shell(cmd.Context(), g, args, url) },
	}
	g.addSettings(cmd)
	g.addLookFlags(cmd)
	cmd.Flags().StringVar(&url, "url", "", "`URL` that a PAGE came from (default: its base element's)")
	return cmd
}

func (c *call) shell(ctx context.Context, g given, from []string, url string) error {
	l, err := c.layers(nil, g)
	if err != nil {
		return err
	}
	return c.withCache("shell", l, func(cache tegenaria.EngineOption) error { return c.shellOn(ctx, g, l, cache, from, url) })
}

// shellOn runs a shell whose pages a cache may have.
func (c *call) shellOn(ctx context.Context, g given, l *layers, cache tegenaria.EngineOption, from []string, url string) error {
	pages, err := c.newSession(l, cache)
	if err != nil {
		return err
	}
	defer pages.Close()
	host := shell.Host{
		Fetch:     pages.Fetch,
		View:      c.view,
		Printable: printableText,
		Terminal:  c.typed(),
		Parse: func(ctx context.Context, page *tegenaria.Response, spider, parser string) error {
			return c.shellParse(ctx, g, page, spider, parser)
		},
	}
	for _, def := range c.app.defs {
		host.Spiders = append(host.Spiders, def.name)
	}
	s := shell.New(host, c.out, c.err)
	for _, from := range from {
		var page *tegenaria.Response
		if isURL(from) {
			page, err = pages.Fetch(ctx, from)
		} else {
			page, err = shellFile(ctx, from, url)
		}
		if err != nil {
			return err
		}
		s.Open(page)
	}
	if host.Terminal {
		return s.Terminal(ctx)
	}
	err = s.Script(ctx, c.in)
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		return errors.New(err.Error()) // in the script, and not in what this command was given
	}
	return err
}

// typed reports whether somebody at the terminal of the process types the commands and sees what they print.
func (c *call) typed() bool {
	in, ok := c.in.(*os.File)
	return ok && in == os.Stdin && c.out == os.Stdout && isTerminal(in) && isTerminal(c.out) && os.Getenv("TERM") != "dumb"
}

// shellFile reads a page from a file.
func shellFile(ctx context.Context, path, url string) (page *tegenaria.Response, err error) {
	offline, err := pageFile(path, url)
	if err != nil {
		return nil, err
	}
	parser := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		page = shell.Keep(resp.Response())
		return nil
	}
	p, err := offline.Run(ctx, tegenaria.NewSpider("shell", parser, offline.Request.URL))
	if err == nil {
		err = p.Err
	}
	return page, err
}

// shellParse gives a page to a spider of the program, offline.
func (c *call) shellParse(ctx context.Context, g given, page *tegenaria.Response, name, parser string) error {
	def, err := c.chosen(name, "parse NAME")
	if err != nil {
		return err
	}
	l, err := c.layers(def, g)
	if err != nil {
		return err
	}
	spider, err := def.of(l)
	if err != nil {
		return err
	}
	again := fixture.New("", def.name, nil, page)
	again.Request.Parser = parser
	p, err := again.Run(ctx, spider)
	if err != nil {
		return err
	}
	return c.seePage(&parseFlags{}, def, l, p)
}
