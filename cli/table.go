package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table writes lines of cells, which end in tabs, as columns. Control characters in them are shown.
func table(w io.Writer, write func(w io.Writer)) error {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	write(columns)
	if err := columns.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(printable(text.String())) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// tableRows is how many lines of a table are lined up together: more do not lie in memory.
const tableRows = 1000

// rowWriter writes a table of any length, [tableRows] lines at a time.
type rowWriter struct {
	to   io.Writer
	rows []string // not written yet; at first the heads of the columns
}

// add adds a line, whose cells end in tabs.
func (w *rowWriter) add(row string) error {
	if w.rows = append(w.rows, row); len(w.rows) < tableRows {
		return nil
	}
	return w.flush()
}

// flush writes the lines that are left.
func (w *rowWriter) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	err := table(w.to, func(to io.Writer) {
		for _, row := range w.rows {
			fmt.Fprintln(to, row)
		}
	})
	w.rows = w.rows[:0]
	return err
}

// cell is a text in a cell of a table: it must not begin another one.
func cell(text string) string {
	return strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`, "\v", `\v`, "\f", `\f`).Replace(strings.ToValidUTF8(text, "\uFFFD"))
}
