// Command jobs looks into a job that a durable cache keeps in a directory, and changes it:
//
//	go run ./examples/jobs status DIR                what there is, by host
//	go run ./examples/jobs pending DIR               what waits, as lines of JSON
//	go run ./examples/jobs outcomes DIR              what has ended and how, as lines of JSON
//	go run ./examples/jobs dead DIR                  what has failed, as lines of JSON
//	go run ./examples/jobs explain DIR URL           what became of a URL, and how it was found
//	go run ./examples/jobs replay DIR [REASON]       lets failed requests run again
//	go run ./examples/jobs drop DIR HOST             gives up all that waits at a host
//	go run ./examples/jobs repair DIR                saves what can be saved of a damaged job
//
// Without arguments it shows all that on a small crawl of its own, in a temporary directory.
//
// The job must not be running: one process has a job at a time. The exit code is 0, or 1 if something went
// wrong; stderr says what. The passwords of URLs are not printed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(context.Background(), os.Args[1:], out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: jobs [status|pending|outcomes|dead|explain|replay|drop|repair] DIR [URL|REASON|HOST]")

// run does what the arguments say.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return show(ctx, out)
	}
	if len(args) < 2 || len(args) > 3 {
		return errUsage
	}
	verb, dir, what := args[0], args[1], ""
	if len(args) == 3 {
		what = args[2]
	}
	if (verb == "explain" || verb == "drop") == (what == "") && verb != "replay" {
		return errUsage
	}
	if verb == "repair" {
		report, err := disk.Repair(ctx, dir)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, report)
		return err
	}
	job, err := disk.Open(dir, disk.Existing())
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, job, verb, what, out), job.Close())
}

// do does something with an open job.
func do(ctx context.Context, job *disk.Cache, verb, what string, out io.Writer) error {
	switch verb {
	case "status":
		return status(ctx, job, out)
	case "pending":
		return list(out, job.Pending(ctx))
	case "outcomes":
		return list(out, job.Outcomes(ctx))
	case "dead":
		return list(out, dead(job.Outcomes(ctx)))
	case "explain":
		return explain(ctx, job, what, out)
	case "replay":
		n, err := job.Replay(ctx, func(info disk.Info) bool { return what == "" || info.Reason == what })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%d requests run again when the job is resumed\n", n)
		return err
	case "drop":
		n, err := job.DropHost(ctx, what, "dropped by hand")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%d requests were dropped\n", n)
		return err
	}
	return errUsage
}

func status(ctx context.Context, job *disk.Cache, out io.Writer) error {
	s, err := job.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, s)
	for _, host := range s.Hosts {
		fmt.Fprintf(out, "%8d waiting at %s\n", host.Pending, host.Name)
	}
	if s.Oldest != nil {
		r, err := s.Oldest.Record.Request()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "the oldest is number %d, %s %s\n", s.Oldest.Number, r.Method, redacted(r.Url))
	}
	for _, suspect := range s.Suspects {
		r, err := suspect.Record.Request()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "the process died %d times in a row while number %d was in flight, %s %s\n",
			suspect.Record.Crashes, suspect.Number, r.Method, redacted(r.Url))
	}
	return nil
}

// line is how a request is printed.
type line struct {
	Number  uint64             `json:"number"`
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

func lineOf(info disk.Info) (l line, err error) {
	r, err := info.Record.Request()
	if err != nil {
		return l, err
	}
	l = line{
		Number: info.Number, State: info.State, Method: r.Method, URL: redacted(r.Url), Slot: info.Record.Slot,
		Depth: info.Record.Depth, Attempt: info.Record.Attempt, Crashes: info.Record.Crashes, Parent: info.Parent, Reason: info.Reason, Status: info.Status,
	}
	switch info.State {
	case disk.Settled:
		l.Outcome, l.At = &info.Outcome, &info.At
	case disk.Delayed:
		l.Due = &info.NotBefore
	}
	return l, nil
}

// redacted hides the password of a URL, or its user if there is no password: then that may be a token.
func redacted(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil: // net/url is stricter than browsers
		return raw[max(strings.LastIndexByte(raw, '@'), 0):]
	case u.User == nil:
		return raw
	}
	if _, ok := u.User.Password(); !ok {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}

func list(out io.Writer, infos iter.Seq2[disk.Info, error]) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for info, err := range infos {
		if err != nil {
			return err
		}
		l, err := lineOf(info)
		if err != nil {
			return err
		}
		if err := encoder.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// dead lets those through that have failed.
func dead(infos iter.Seq2[disk.Info, error]) iter.Seq2[disk.Info, error] {
	return func(yield func(disk.Info, error) bool) {
		for info, err := range infos {
			if err == nil && info.Outcome != tegenaria.Failed && info.Outcome != tegenaria.GaveUp {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func explain(ctx context.Context, job *disk.Cache, asked string, out io.Writer) error {
	key, err := disk.KeyOf(tegenaria.NewRequest(asked, tegenaria.GET, nil))
	if err != nil {
		return err
	}
	chain, err := job.Explain(ctx, key)
	if err != nil {
		return err
	}
	for i, info := range chain {
		l, err := lineOf(info)
		if err != nil {
			return err
		}
		lead := ""
		if i > 0 {
			lead = "found by "
		}
		fmt.Fprintf(out, "%s%s %s: %s", lead, l.Method, l.URL, l.State)
		if l.Outcome != nil {
			fmt.Fprintf(out, " as %s at %s", l.Outcome, l.At.Format(time.RFC3339))
		}
		if l.Reason != "" {
			fmt.Fprintf(out, " (%s)", l.Reason)
		}
		if l.Status != 0 {
			fmt.Fprintf(out, ", status %d", l.Status)
		}
		fmt.Fprintf(out, ", tried %d times before, depth %d\n", l.Attempt, l.Depth)
	}
	return nil
}
