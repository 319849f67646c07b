package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// jobFilter says which requests of a job a command is about.
type jobFilter struct {
	hosts, reasons, statuses []string
	since                    string

	from     time.Time
	statusIn [][2]int // from, to
}

// add adds the flags; ended: also those that are about requests that have ended.
func (f *jobFilter) add(cmd *cobra.Command, ended bool) {
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "only requests at this `HOST`, without its sub-domains; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("host", func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return hostsOf(args[0]), cobra.ShellCompDirectiveNoFileComp
	}))
	if ended {
		cmd.Flags().StringArrayVar(&f.reasons, "reason", nil, "only requests that ended for this `REASON`, such as status "+
			"or timeout; may be repeated")
		cmd.Flags().StringArrayVar(&f.statuses, "status", nil, "only requests that ended with this `STATUS`: a code, or a "+
			"class such as 5xx; may be repeated")
		cmd.Flags().StringVar(&f.since, "since", "", "only requests that ended after this `TIME`, such as 2026-01-31 or "+
			"2026-01-31T12:00:00Z, or in this time up to now, such as 2h")
	}
}

// check reads the flags.
func (f *jobFilter) check() error {
	var errs []error
	for _, text := range f.statuses {
		class, isClass := strings.CutSuffix(strings.ToLower(text), "xx")
		n, err := strconv.Atoi(class)
		switch {
		case err == nil && isClass && n >= 1 && n <= 9:
			f.statusIn = append(f.statusIn, [2]int{n * 100, n*100 + 99})
		case err == nil && !isClass && n >= 100 && n <= 999:
			f.statusIn = append(f.statusIn, [2]int{n, n})
		default:
			errs = append(errs, fmt.Errorf("--status %q: write a code such as 404, or a class such as 5xx", text))
		}
	}
	if f.since != "" {
		var err error
		if f.from, err = timeOf(f.since); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &usageError{err}
	}
	return nil
}

// timeOf reads the flag --since.
func timeOf(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q: write a time such as 2026-01-31 or 2026-01-31T12:00:00Z, or a duration such as 2h", text)
}

// matches reports whether a request, which has this URL, passes the filter.
func (f *jobFilter) matches(info *disk.Info, url string) bool {
	if len(f.hosts) > 0 && !slices.ContainsFunc(f.hosts, func(host string) bool {
		return strings.EqualFold(host, slots.Name(info.Record.Slot)) || strings.EqualFold(host, urlx.Hostname(url))
	}) {
		return false
	}
	if len(f.reasons) > 0 && (info.State != disk.Settled || !slices.Contains(f.reasons, info.Reason)) {
		return false
	}
	if len(f.statusIn) > 0 && !slices.ContainsFunc(f.statusIn, func(r [2]int) bool { return info.Status >= r[0] && info.Status <= r[1] }) {
		return false
	}
	return f.from.IsZero() || info.State == disk.Settled && info.At.After(f.from)
}
