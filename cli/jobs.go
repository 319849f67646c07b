package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// jobsCommand makes the commands that look into a durable job and change it. The job must not be running.
func (c *call) jobsCommand() *cobra.Command {
	cmd := c.group("jobs", "look into durable jobs, and change them")
	cmd.Long = "Looks into the job that crawl --job keeps in a directory, and changes it. The job must not be " +
		"running: one process has a job at a time. " +
		"The passwords of URLs are not printed."
	cmd.AddCommand(c.jobStatus(),
		c.jobList("pending", "list what waits", "the requests that wait, host by host in the order in which they will be fetched",
			false, func(ctx context.Context, job *disk.Cache) iter.Seq2[disk.Info, error] { return job.Pending(ctx) }),
		c.jobList("outcomes", "list what has ended, and how", "the requests that have ended, in the order in which they were found",
			true, func(ctx context.Context, job *disk.Cache) iter.Seq2[disk.Info, error] { return job.Outcomes(ctx) }),
		c.jobList("dead", "list what has failed",
			"the requests that have failed or were given up, in the order in which they were found; jobs requeue lets them run again",
			true, dead),
		c.jobExplain(), c.jobRequeue(), c.jobDrop(), c.jobExport(), c.jobRepair())
	return cmd
}

// onJob opens the job of a directory for a command.
func onJob(dir string, do func(job *disk.Cache) error) error {
	job, err := disk.Open(dir, disk.Existing())
	if err != nil {
		return err
	}
	return errors.Join(do(job), job.Close())
}

// arguments takes n arguments, the first of them a directory; names says which.
func arguments(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s needs %s, and was given %d arguments", cmd.CommandPath(), names, len(args))
		}
		return nil
	}
}

// completeDir completes the directory of a job.
func completeDir(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// jobCommand makes a command of a job.
func jobCommand(use, short, long string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Args: args, ValidArgsFunction: completeDir, RunE: run}
}

// jobLine is how a request of a job is printed.
type jobLine struct {
	Number  uint64             `json:"number,omitempty"`
	State   disk.State         `json:"state"`
	Method  string             `json:"method"`
	URL     string             `json:"url"`
	Slot    string             `json:"slot"`
	Depth   int                `json:"depth"`
	Attempt int                `json:"attempt"`
	Crashes int                `json:"crashes,omitempty"`
	Parent  uint64             `json:"parent,omitempty"`
	Outcome *tegenaria.Outcome `json:"outcome,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	Status  int                `json:"status,omitempty"`
	At      *time.Time         `json:"at,omitempty"`
	Due     *time.Time         `json:"due,omitempty"`
}

func jobLineOf(info disk.Info) (l jobLine, err error) {
	r, err := info.Record.Request()
	if err != nil {
		return l, err
	}
	l = jobLine{
		Number: info.Number, State: info.State, Method: r.Method, URL: urlx.Redact(r.Url), Slot: slots.Name(info.Record.Slot),
		Depth: info.Record.Depth, Attempt: info.Record.Attempt, Crashes: info.Record.Crashes,
		Parent: info.Parent, Reason: info.Reason, Status: info.Status,
	}
	switch info.State {
	case disk.Settled, disk.Refused:
		l.Outcome = &info.Outcome
		if !info.At.IsZero() {
			l.At = &info.At
		}
	case disk.Delayed:
		l.Due = &info.NotBefore
	}
	return l, nil
}

// row is the line in a table.
func (l *jobLine) row() string {
	state, when := string(l.State), ""
	if l.Outcome != nil {
		state = l.Outcome.String()
	}
	if l.Reason != "" && l.Reason != state {
		state += " (" + l.Reason + ")"
	}
	switch {
	case l.At != nil:
		when = l.At.Format(time.RFC3339)
	case l.Due != nil:
		when = "due " + l.Due.Format(time.RFC3339)
	}
	status := ""
	if l.Status != 0 {
		status = fmt.Sprint(l.Status)
	}
	return fmt.Sprintf("%d\t%s\t%s\t%d\t%s\t%s\t%s", l.Number, state, status, l.Depth, when, l.Method, cell(l.URL))
}

const jobColumns = "NUMBER\tSTATE\tSTATUS\tDEPTH\tTIME\tMETHOD\tURL"

// writeJob writes requests as a table or as lines of JSON.
func (c *call) writeJob(infos iter.Seq2[disk.Info, error], f *jobFilter, asJSON bool) error {
	rows := rowWriter{to: c.out, rows: []string{jobColumns}}
	for info, err := range infos {
		if err != nil {
			return err
		}
		l, err := jobLineOf(info)
		if err != nil {
			return err
		}
		if !f.matches(&info, l.URL) {
			continue
		}
		if asJSON {
			if err := writeLine(c.out, l); err != nil {
				return err
			}
			continue
		}
		if err := rows.add(l.row()); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return rows.flush()
}

func (c *call) jobList(name, short, long string, ended bool,
	of func(ctx context.Context, job *disk.Cache) iter.Seq2[disk.Info, error]) *cobra.Command {
	f := &jobFilter{}
	var asJSON bool
	one := arguments(1, "the directory of a job")
	cmd := jobCommand(name+" DIR", short, "Lists "+long+".", one, func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return onJob(args[0], func(job *disk.Cache) error { return c.writeJob(of(cmd.Context(), job), f, asJSON) })
	})
	f.add(cmd, ended)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write lines of JSON")
	return cmd
}

// dead lists the requests that have failed.
func dead(ctx context.Context, job *disk.Cache) iter.Seq2[disk.Info, error] {
	return func(yield func(disk.Info, error) bool) {
		for info, err := range job.Outcomes(ctx) {
			if err == nil && info.Outcome != tegenaria.Failed && info.Outcome != tegenaria.GaveUp {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (c *call) jobExport() *cobra.Command {
	f := &jobFilter{}
	cmd := jobCommand("export DIR", "write all requests as lines of JSON",
		"Writes all requests of the job as lines of JSON: those that have ended in the order in which they were "+
			"found, then those that wait. "+
			"parent is the number of the request on whose page a request was found. A filter for what has ended "+
			"leaves out what waits.",
		arguments(1, "the directory of a job"), func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return onJob(args[0], func(job *disk.Cache) error {
				return errors.Join(c.writeJob(job.Outcomes(cmd.Context()), f, true), c.writeJob(job.Pending(cmd.Context()), f, true))
			})
		})
	f.add(cmd, true)
	return cmd
}

func (c *call) jobRequeue() *cobra.Command {
	f := &jobFilter{}
	cmd := jobCommand("requeue DIR", "let failed requests run again",
		"Puts the requests that have failed, or were given up, back into the queue, as if they had never been "+
			"tried: all, or those that the filters name. "+
			"They run when the job is resumed, by the same command line as before.",
		arguments(1, "the directory of a job"), func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return onJob(args[0], func(job *disk.Cache) error {
				var failed error
				n, err := job.Replay(cmd.Context(), func(info disk.Info) bool {
					r, err := info.Record.Request()
					if err != nil {
						failed = err
						return false
					}
					return f.matches(&info, r.Url)
				})
				if err := errors.Join(err, failed); err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.out, "requests that run again when the job is resumed: %d\n", n)
				return err
			})
		})
	f.add(cmd, true)
	return cmd
}

func (c *call) jobDrop() *cobra.Command {
	var reason string
	cmd := jobCommand("drop DIR HOST", "give up what waits at a host",
		"Settles all requests that wait at a host as dropped. The host is named as in jobs status, where a slot "+
			"may also stand for a domain.",
		arguments(2, "the directory of a job and a host"), func(cmd *cobra.Command, args []string) error {
			return onJob(args[0], func(job *disk.Cache) error {
				n, err := job.DropHost(cmd.Context(), args[1], reason)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.out, "dropped requests: %d\n", n)
				return err
			})
		})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return completeDir(cmd, args, text)
		}
		return hostsOf(args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().StringVar(&reason, "reason", "dropped by hand", "`TEXT` that outcomes give as the reason")
	return cmd
}

func (c *call) jobRepair() *cobra.Command {
	return jobCommand("repair DIR", "save what can be saved of a damaged job",
		"Reads every byte of a job and, if it is damaged, saves what is readable. The damaged files are kept "+
			"beside it. What is lost is fetched again when it is found.",
		arguments(1, "the directory of a job"), func(cmd *cobra.Command, args []string) error {
			report, err := disk.Repair(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.out, printable(report.String()))
			return err
		})
}
