package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/dashboard"
	"github.com/tegenaria/tegenaria/internal/report"
)

// topHosts is how many hosts the command top shows.
const topHosts = 10

func (c *call) topCommand() *cobra.Command {
	return &cobra.Command{
		Use: "top ADDRESS", Short: "show a crawl while it runs",
		Long: "Shows the numbers of a crawl that runs with --listen, once a second, until the crawl is over or Ctrl-C. " +
			"ADDRESS is what that crawl has printed. " +
			"Where the output is no terminal, it shows them once.",
		Example:           "  " + c.name + " top 'http://127.0.0.1:8080/?token=…'",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("top needs the address that the crawl has printed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := newRemote(args[0])
			if err != nil {
				return err
			}
			return c.top(cmd.Context(), r)
		},
	}
}

// top shows a crawl until it is over.
func (c *call) top(ctx context.Context, r *remote) error {
	isSeen := c.app.columns(c.out) > 0
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for shown := false; ; shown = true {
		text, err := r.overview(ctx)
		var gone *goneError
		switch {
		case shown && errors.As(err, &gone):
			fmt.Fprintln(c.out, "the crawl is over")
			return nil
		case err != nil:
			return err
		}
		if isSeen {
			text = "\x1b[H\x1b[2J" + printable(text) // from the first place on, without what was there
		}
		if _, err := fmt.Fprint(c.out, text); err != nil || !isSeen {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// overview returns what the command top shows.
func (r *remote) overview(ctx context.Context) (string, error) {
	var run dashboard.Run
	var hosts []dashboard.Host
	var changes []dashboard.Change
	if err := cmp.Or(r.ask(ctx, http.MethodGet, "/api/v1/run", nil, &run),
		r.ask(ctx, http.MethodGet, fmt.Sprintf("/api/v1/hosts?n=%d", topHosts), nil, &hosts),
		r.ask(ctx, http.MethodGet, "/api/v1/changes", nil, &changes)); err != nil {
		return "", err
	}
	s := &run.Stats
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, for %s", run.Spider, run.Status, s.Elapsed.Round(time.Second))
	if words := run.End.InWords(); words != "" {
		fmt.Fprintf(&b, ", %s", words)
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "%s (%.1f/s), %s (%.1f/s), %s, %s\n", report.Count(s.Responses, "page"), run.Rates.Pages,
		report.Count(s.ItemScraped, "item"), run.Rates.Items, report.Count(s.ErrorCount, "failure"), report.Bytes(s.Bytes))
	fmt.Fprintf(&b, "%s waiting, %d for a time, %d in flight of %d downloads\n", report.Count(s.Pending, "request"), s.Delayed, s.InFlight, run.Concurrency)
	if run.Places.Sentence != "" {
		fmt.Fprintln(&b, run.Places.Sentence)
	}
	b.WriteString("\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tWAITING\tIN FLIGHT\tLATENCY\tDELAY\t")
	for _, h := range hosts {
		fmt.Fprintf(table, "%s\t%d\t%d of %d\t%s\t%s\t%s\n", h.Name, h.Pending, h.InFlight, h.PerSlot, h.Latency, h.Delay, h.DelayCause)
	}
	table.Flush()
	if len(changes) > 0 {
		fmt.Fprintf(&b, "\n%s %s\n", changes[0].At.Local().Format(time.TimeOnly), changes[0].What)
	}
	return b.String(), nil
}
