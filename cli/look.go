package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// addSettings adds the flag for settings to a command that looks at pages.
func (g *given) addSettings(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&g.sets, "set", "s", nil, "setting, `NAME=VALUE` such as politeness.user_agent=bot; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("set", completeSetting("")))
}

// addLookFlags adds the flags for a cache and for proxies to such a command.
func (g *given) addLookFlags(cmd *cobra.Command) {
	g.addCache(cmd.Flags(), "`DIR` of a cache as crawl --cache keeps it: a page that is stored there is not fetched, and others are stored")
	completeCache(cmd)
	g.addProxies(cmd.Flags())
}

// oneURL takes the one argument of a command, which is a URL.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s needs one URL, and was given %d arguments", cmd.CommandPath(), len(args))
	}
	return checkURL(args[0])
}

// checkURL refuses what no crawl can request. The message does not repeat what may be a password.
func checkURL(raw string) error {
	if scheme := urlx.Scheme(raw); scheme != "http" && scheme != "https" || urlx.Hostname(raw) == "" {
		return usagef("%q is no URL that can be fetched: write it as https://host/path", urlx.Redact(raw))
	}
	return nil
}

// looking makes an engine for a spider that looks at single pages: with the settings and the options of the program, but for its
// pipelines, which would write to its outputs. Of what a crawl would log it says only what the page waits for.
func (c *call) looking(l *layers, spider tegenaria.SpiderInterface, last ...tegenaria.EngineOption) (*Run, error) {
	logger := logrus.New()
	logger.SetOutput(c.err)
	logger.SetFormatter(waits(c.name))
	run, err := c.newRun(l, spider, "")
	if err != nil {
		return nil, err
	}
	middlewares, err := l.middlewares(logger)
	if err != nil {
		return nil, err
	}
	run.Add(tegenaria.EngineWithoutPipelines(), tegenaria.EngineWithLogger(logger), middlewares)
	if err := l.add(run); err != nil {
		return nil, err
	}
	run.Add(last...)
	return run, nil
}

// waits writes the log's entries about waiting as messages of a command of that name, and no others: a page is no crawl.
type waits string

func (name waits) Format(e *logrus.Entry) ([]byte, error) {
	if !strings.HasPrefix(e.Message, "requests wait for ") {
		return nil, nil
	}
	return fmt.Appendf(nil, "%s: %s\n", string(name), e.Message), nil
}

// visit runs such an engine, which obeys signals.
func (c *call) visit(ctx context.Context, l *layers, spider tegenaria.SpiderInterface, last ...tegenaria.EngineOption) error {
	run, err := c.looking(l, spider, last...)
	if err != nil {
		return err
	}
	if c.signals {
		run.Add(tegenaria.EngineWithSignals())
	}
	return run.engine.Run(ctx, spider.GetName())
}

// everyStatus are the codes that a request names to see each response.
func everyStatus() (codes []uint64) {
	for code := uint64(400); code < 600; code++ {
		codes = append(codes, code)
	}
	return codes
}

// look fetches a page through middlewares, politeness and dial guard, whatever its status, and calls see with the response.
func (c *call) look(ctx context.Context, l *layers, request *tegenaria.Request, see func(resp *tegenaria.Response) error, last ...tegenaria.EngineOption) error {
	var failed error
	parser := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		failed = see(resp.Response())
		return nil
	}
	tegenaria.RequestWithAllowedStatusCode(everyStatus())(request)
	return errors.Join(withoutSpider(c.visit(ctx, l, tegenaria.NewSpiderOf("look", parser, request), last...)), failed)
}

// withoutSpider takes out of an error about a single page what is for crawls of many: the name of the spider, and how to go on.
func withoutSpider(err error) error {
	var nothing *tegenaria.NothingError
	switch {
	case !errors.As(err, &nothing):
	case nothing.Unparsed > 0: // whoever was given the page reports what its parser says
		return nil
	case len(nothing.Seeds) == 1:
		return &nothing.Seeds[0]
	}
	var interrupted *tegenaria.InterruptedError
	if errors.As(err, &interrupted) { // nothing waits that could go on
		return &tegenaria.StoppedError{Reason: "interrupted"}
	}
	return err
}

// printableText returns a text of a page as it may be shown on a terminal.
func printableText(text string) string { return printable(strings.ToValidUTF8(text, "\uFFFD")) }

// headerLines returns the lines of a header, sorted by name.
func headerLines(header map[string][]string) (lines []string) {
	for name, values := range header {
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return lines
}
