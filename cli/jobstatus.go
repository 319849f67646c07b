package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/cache/disk"
)

// jobStatusJSON is the summary of a job.
type jobStatusJSON struct {
	Spider   string           `json:"spider"`
	Started  bool             `json:"started"` // all seeds are in it
	Finished bool             `json:"finished"`
	Reason   string           `json:"reason,omitempty"` // why it is finished
	Waiting  int64            `json:"waiting"`
	Delayed  int64            `json:"delayed"`
	Settled  int64            `json:"settled"`
	Dead     int64            `json:"dead"`
	Hosts    []jobHost        `json:"hosts"` // those with requests that wait
	Oldest   *jobLine         `json:"oldest,omitempty"`
	Suspects []jobLine        `json:"suspects,omitempty"`
	Counters map[string]int64 `json:"counters"`
}

type jobHost struct {
	Name    string `json:"name"`
	Waiting int64  `json:"waiting"`
}

func (c *call) jobStatus() *cobra.Command {
	var asJSON bool
	cmd := jobCommand("status DIR", "summarize a job, by host", "Says how far a job is: how many requests wait, by host, "+
		"how many have ended, the oldest one that waits, "+
		"and those that were in flight when the process died.", arguments(1, "the directory of a job"), func(cmd *cobra.Command, args []string) error {
		return onJob(args[0], func(job *disk.Cache) error {
			status, err := job.Status(cmd.Context())
			if err != nil {
				return err
			}
			s, err := jobStatusOf(status)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(c.out, s)
			}
			if _, err := fmt.Fprintln(c.out, printable(status.String())); err != nil {
				return err
			}
			return table(c.out, func(w io.Writer) { s.table(w) })
		})
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func jobStatusOf(status disk.Status) (s jobStatusJSON, err error) {
	s = jobStatusJSON{
		Spider: status.Spider, Started: status.Started, Finished: status.Finished, Reason: status.Reason,
		Waiting: status.Waiting, Delayed: status.Delayed, Settled: status.Settled, Dead: status.Dead, Hosts: []jobHost{}, Counters: status.Counters,
	}
	for _, host := range status.Hosts {
		s.Hosts = append(s.Hosts, jobHost{host.Name, int64(host.Pending)})
	}
	if status.Oldest != nil {
		l, err := jobLineOf(*status.Oldest)
		if err != nil {
			return s, err
		}
		s.Oldest = &l
	}
	for _, suspect := range status.Suspects {
		l, err := jobLineOf(suspect)
		if err != nil {
			return s, err
		}
		s.Suspects = append(s.Suspects, l)
	}
	return s, nil
}

// table writes what the line of the status does not say. The counters are those of the log's last lines, by the same names.
func (s *jobStatusJSON) table(w io.Writer) {
	fmt.Fprintf(w, "pages\t%d\nitems\t%d\n", s.Counters["responses"], s.Counters["items_scraped"])
	for _, more := range [][2]string{{"items dropped", "items_dropped"}, {"items failed", "items_failed"}, {"errors", "errors"}, {"retries", "retries"}, {"bytes", "bytes"}} {
		if n := s.Counters[more[1]]; n > 0 {
			fmt.Fprintf(w, "%s\t%d\n", more[0], n)
		}
	}
	for _, counter := range slices.Sorted(maps.Keys(s.Counters)) {
		if outcome, ok := strings.CutPrefix(counter, "outcome/"); ok {
			fmt.Fprintf(w, "requests %s\t%d\n", cell(outcome), s.Counters[counter])
		}
	}
	for _, host := range s.Hosts {
		fmt.Fprintf(w, "waiting at %s\t%d\n", cell(host.Name), host.Waiting)
	}
	if s.Oldest != nil {
		fmt.Fprintf(w, "the oldest is number %d, %s %s\n", s.Oldest.Number, s.Oldest.Method, cell(s.Oldest.URL))
	}
	for _, l := range s.Suspects {
		fmt.Fprintf(w, "the process died %d times in a row while number %d was in flight, %s %s\n", l.Crashes, l.Number, l.Method, cell(l.URL))
	}
}

// hostsOf returns the hosts of a job at which requests wait, for completion; none if the job cannot be opened.
func hostsOf(dir string) (names []cobra.Completion) {
	_ = onJob(dir, func(job *disk.Cache) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		status, err := job.Status(ctx)
		for _, host := range status.Hosts {
			names = append(names, cobra.CompletionWithDesc(host.Name, fmt.Sprintf("%d waiting", host.Pending)))
		}
		return err
	})
	return names
}

// explanation is a request in the chain of pages that led to one.
type explanation struct {
	jobLine
	Why string `json:"why"` // where it is or how it ended, and what to do
}

func (c *call) jobExplain() *cobra.Command {
	var asJSON bool
	cmd := jobCommand("explain DIR URL", "say what became of a URL, and how it was found",
		"Says where the request of a URL is or how it ended, how often it was tried, and through which pages it was found, up to a seed.",
		arguments(2, "the directory of a job and a URL"), func(cmd *cobra.Command, args []string) error {
			return onJob(args[0], func(job *disk.Cache) error {
				infos, err := job.ExplainURL(cmd.Context(), args[1])
				if err != nil {
					return err
				}
				chain := make([]explanation, len(infos))
				for i := range infos {
					if chain[i].jobLine, err = jobLineOf(infos[i]); err != nil {
						return err
					}
					chain[i].Why = infos[i].Why()
				}
				if asJSON {
					return writeJSON(c.out, chain)
				}
				return table(c.out, func(w io.Writer) {
					for i, l := range chain {
						lead, tries := "", ""
						if i > 0 {
							lead = "found by "
						}
						if l.Attempt > 0 {
							tries = fmt.Sprintf(", tried %d times before", l.Attempt)
						}
						if l.At != nil {
							tries += fmt.Sprintf(" (%s)", l.At.Format(time.RFC3339))
						}
						fmt.Fprintf(w, "%s%s %s, depth %d: %s%s\n", lead, l.Method, cell(l.URL), l.Depth, cell(l.Why), tries)
					}
				})
			})
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
