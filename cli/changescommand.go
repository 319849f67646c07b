package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/revisit"
)

// changesFlags are the flags of the command changes.
type changesFlags struct {
	since   int
	sinceOn bool
	format  string
	accepts bool
	all     bool
}

// changesCommand makes the command that shows what has changed.
func (c *call) changesCommand() *cobra.Command {
	f := &changesFlags{}
	cmd := &cobra.Command{
		Use: "changes DIR", Short: "show what has changed since the last crawl",
		Long: "Shows what the last run of crawl --history DIR has changed: items that are new, changed or removed. An item " +
			"is removed if its page is " +
			"gone, by the answer 404 or 410, or if the run came to its end and neither a page gives the item nor a link leads to its page.\n\n" +
			"The table has the fields that have changed, as they were and as they are. The format jsonl has the lines of DIR/" + changesFile + ". " +
			"What a run has found besides, and whether it came to its end, stands on the standard error.",
		Example: "  " + c.name + " changes history\n  " + c.name + " changes history --since 0 --format jsonl",
		Args:    arguments(1, "the directory of a history"), ValidArgsFunction: completeDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.sinceOn = cmd.Flags().Changed("since")
			return c.changes(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().IntVar(&f.since, "since", 0, "show the changes of all runs after `RUN`, a number; 0 for those of all "+
		"runs (default: the last run alone)")
	cmd.Flags().StringVar(&f.format, "format", "table", "`FORMAT`: table or jsonl")
	cmd.Flags().BoolVar(&f.accepts, "accept-removed", false, "first remove what the last run has withheld, because it "+
		"was more than a run may remove")
	cmd.Flags().BoolVar(&f.all, "all", false, "also show the pages that the last run has not read: unreached, or failed")
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]cobra.Completion{"table", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (c *call) changes(ctx context.Context, dir string, f *changesFlags) error {
	if f.format != "table" && f.format != "jsonl" {
		return usagef("--format is %q: it is table or jsonl", f.format)
	}
	history, err := revisit.OpenExisting(dir, revisit.Options{})
	if none := (*revisit.NotFoundError)(nil); errors.As(err, &none) {
		return usagef("%s is no history; crawl --history %[1]s makes one", dir)
	}
	if err != nil {
		return err
	}
	return errors.Join(c.changesOf(ctx, history, dir, f), history.Close())
}

func (c *call) changesOf(ctx context.Context, history *revisit.History, dir string, f *changesFlags) error {
	runs, err := history.Runs()
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintf(c.err, "%s: the history %s has no run yet\n", c.name, printable(dir))
		return nil
	}
	last := &runs[len(runs)-1]
	switch {
	case f.sinceOn && (f.since < 0 || f.since > last.Number):
		return usagef("--since is %d: the runs of this history are 1 to %d, and 0 is before them", f.since, last.Number)
	case f.accepts && last.Withheld == 0:
		return usagef("--accept-removed: the last run, %d, has withheld nothing", last.Number)
	case f.accepts:
		if _, err := history.AcceptRemoved(ctx, changesFeed(dir)); err != nil {
			return err
		}
		if runs, err = history.Runs(); err != nil {
			return err
		}
		last = &runs[len(runs)-1]
	}
	from := last.Number - 1
	if f.sinceOn {
		from = f.since
	}
	shown := runs[:0:0]
	for _, run := range runs {
		if run.Number > from {
			shown = append(shown, run)
		}
	}
	for i := range shown {
		c.sayRun(dir, &shown[i], false)
	}
	lines := changedLines(filepath.Join(dir, changesFile), shown)
	if f.all {
		lines = joined(lines, unreadLines(history))
	}
	if f.format == "jsonl" {
		return c.copyChanges(lines)
	}
	return c.tabulate(lines)
}

// changedLine is a line of the feed, and what it says.
type changedLine struct {
	text []byte
	revisit.Change
	fields string // in the table; "": those of the change
}

// joined are the lines of both, up to an error.
func joined(first, second iter.Seq2[changedLine, error]) iter.Seq2[changedLine, error] {
	return func(yield func(changedLine, error) bool) {
		for line, err := range first {
			if !yield(line, err) || err != nil {
				return
			}
		}
		second(yield)
	}
}

// unreadLines are lines for the pages that the last run has not read.
func unreadLines(h *revisit.History) iter.Seq2[changedLine, error] {
	return func(yield func(changedLine, error) bool) {
		for page, err := range h.Unread() {
			line := changedLine{Change: revisit.Change{Op: revisit.Op(page.Op), URL: page.URL}, fields: "never read"}
			if page.Run > 0 {
				line.fields = fmt.Sprintf("read last in run %d, %s", page.Run, counted(page.Items, "item"))
			}
			if err == nil {
				line.text, err = jsonLine(page)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// changedLines reads the changes of some runs. A run whose process was killed may have left lines that the history does
// not have and the next run takes back, so no more are read of a run than it has counted. An error ends the lines.
func changedLines(path string, runs []revisit.Run) iter.Seq2[changedLine, error] {
	return func(yield func(changedLine, error) bool) {
		left := make(map[int]int64)
		for _, r := range runs {
			left[r.Number] = r.New + r.Changed + r.Removed
		}
		file, err := os.Open(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(changedLine{}, err)
			return
		}
		if err == nil {
			defer file.Close()
			reader := bufio.NewReader(file)
			for number := 1; ; number++ {
				text, err := reader.ReadBytes('\n')
				if err != nil && err != io.EOF {
					yield(changedLine{}, err)
					return
				}
				if err == io.EOF { // what follows the last end of a line was cut short
					break
				}
				line := changedLine{text: bytes.TrimSuffix(text, []byte("\n"))}
				if err := json.Unmarshal(line.text, &line.Change); err != nil {
					yield(changedLine{}, fmt.Errorf("%s:%d: this is no change: %w", path, number, err))
					return
				}
				if left[line.Run] == 0 {
					continue
				}
				if left[line.Run]--; !yield(line, nil) {
					return
				}
			}
		}
		for _, r := range runs {
			if n := left[r.Number]; n > 0 {
				yield(changedLine{}, fmt.Errorf("%s lacks %s of run %d: the file was changed, or is another one", path, counted(int(n), "line"), r.Number))
				return
			}
		}
	}
}

// jsonLine is JSON without the end of the line, which leaves <, > and & as they are.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// copyChanges writes the lines of the feed.
func (c *call) copyChanges(lines iter.Seq2[changedLine, error]) error {
	out := c.out
	if isTerminal(out) {
		out = printableLines{out}
	}
	buffered := bufio.NewWriter(out)
	for line, err := range lines {
		if err != nil {
			return errors.Join(err, buffered.Flush())
		}
		if _, err := buffered.Write(append(line.text, '\n')); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// tabulate writes the changes as a table.
func (c *call) tabulate(lines iter.Seq2[changedLine, error]) error {
	head := []string{"OP\tKEY\tFIELDS\tURL"}
	rows := head
	flush := func() error {
		if len(rows) == 0 || len(rows) == len(head) && rows[0] == head[0] { // none, or the head alone
			return nil
		}
		err := table(c.out, func(w io.Writer) {
			for _, row := range rows {
				fmt.Fprintln(w, row)
			}
		})
		rows = nil
		return err
	}
	for line, err := range lines {
		if err != nil {
			return errors.Join(flush(), err)
		}
		fields := cmp.Or(line.fields, fieldsChanged(&line.Change))
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", line.Op, cell(shortened(line.Key)), cell(fields), cell(urlx.Redact(line.URL))))
		if len(rows) >= tableRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// fieldsChanged says how the fields of an item have changed, "price: 12 → 10", or why it is removed.
func fieldsChanged(change *revisit.Change) string {
	if change.Op != revisit.Changed {
		return string(change.Proof)
	}
	var old, now map[string]json.RawMessage
	if json.Unmarshal(change.Old, &old) != nil || json.Unmarshal(change.Item, &now) != nil || old == nil { // items without fields
		return valueText(change.Old) + " → " + valueText(change.Item)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(old)) {
		parts = append(parts, name+": "+valueText(old[name])+" → "+valueText(now[name]))
	}
	return strings.Join(parts, ", ")
}

// valueText is the value of a field: a string without its quotes; "-" is none.
func valueText(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return "-"
	case json.Unmarshal(value, &text) == nil:
		return shortened(text)
	}
	return shortened(string(value))
}

// shortened is the beginning of a long text.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
