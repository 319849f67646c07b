package cli

import (
	"io"
	"time"
)

// AskEvery sets how often --stop-if is asked.
func (a *App) AskEvery(d time.Duration) { a.ask = d }

// Columns makes the standard error a terminal that is as wide as a func says.
func (a *App) Columns(columns func() int) { a.columns = func(io.Writer) int { return columns() } }

// WriteRows writes a table.
func WriteRows(to io.Writer, head string, rows ...string) error {
	w := rowWriter{to: to, rows: []string{head}}
	for _, row := range rows {
		if err := w.add(row); err != nil {
			return err
		}
	}
	return w.flush()
}
