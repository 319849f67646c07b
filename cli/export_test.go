package cli

import (
	"io"
	"time"
)

// AskEvery sets how often --stop-if is asked.
func (a *App) AskEvery(d time.Duration) { a.ask = d }

// Columns makes the standard error a terminal that is as wide as a func says.
func (a *App) Columns(columns func() int) { a.columns = func(io.Writer) int { return columns() } }

// InWords says a message in the words of the command crawl, of a spider or of a site.
func InWords(text string, site bool) string {
	c := &call{}
	if site {
		c.flags = siteWords
	}
	return c.words()(text)
}
