package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
)

const (
	redrawEvery = time.Second
	rateOver    = 10 // redraws that the rate of pages is taken over
)

// progress is the last line of a terminal: it says how far a crawl is. What else is written to the terminal goes through a writer of
// [progress.above]. The cursor stands at the beginning of the line, so that what passes these by, such as the ^C that the terminal shows,
// overwrites the line and does not follow it. No escape sequence is needed: the line is taken away by spaces.
type progress struct {
	terminal io.Writer
	columns  func() int // how wide the terminal is now

	mu    sync.Mutex // guards shown; whoever writes to the terminal holds it, so that lines do not mix
	shown string
}

// newProgress returns nil where no line is shown: where the standard error is no terminal, or one that cannot go back in a line.
func (c *call) newProgress(quiet bool) *progress {
	terminal := c.err
	if quiet || os.Getenv("TERM") == "dumb" || c.app.columns(terminal) == 0 {
		return nil
	}
	return &progress{terminal: terminal, columns: func() int { return c.app.columns(terminal) }}
}

// columnsOf returns how wide the terminal is that a writer belongs to, 0 if it belongs to none.
func columnsOf(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return cmp.Or(columns, 80) // terminals that do not know have 0
}

// isTerminal reports whether a writer belongs to a terminal.
func isTerminal(w io.Writer) bool { return columnsOf(w) > 0 }

// above returns a writer for what stands above the line. Each Write must be of whole lines.
func (p *progress) above(w io.Writer) io.Writer { return &aboveWriter{p, w} }

type aboveWriter struct {
	line *progress
	to   io.Writer
}

func (w *aboveWriter) Write(b []byte) (int, error) {
	p := w.line
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.shown
	p.draw("")
	n, err := w.to.Write(b)
	p.draw(text)
	return n, err
}

// show puts a text in the place of the line, cut to the terminal's width; "" takes the line away.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most := max(p.columns()-1, 0); len(text) > most { // in the last column some terminals begin a new line
		text = text[:most]
	}
	p.draw(text)
}

// draw is called with mu held. A terminal that is gone is no failure of the crawl.
func (p *progress) draw(text string) {
	if text != "" || p.shown != "" {
		_, _ = io.WriteString(p.terminal, "\r"+text+strings.Repeat(" ", max(len(p.shown)-len(text), 0))+"\r")
	}
	p.shown = text
}

// follow shows how far an engine is until stop is called, which takes the line away. It does nothing if p is nil.
func (p *progress) follow(engine *tegenaria.SpiderEngine) (stop func()) {
	if p == nil {
		return func() {}
	}
	over := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		ticker := time.NewTicker(redrawEvery)
		defer ticker.Stop()
		var past []tegenaria.Stats
		for {
			past = append(past, engine.Stats())
			past = past[max(len(past)-1-rateOver, 0):]
			p.show(progressOf(past, engine.BusiestSlots(1), engine.SlowestSlots(1)))
			select {
			case <-ticker.C:
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		drawing.Wait()
		p.show("")
	}
}

// progressOf is the text of the line: ASCII, so that it has as many columns as bytes. The last of past is how far the crawl is.
func progressOf(past []tegenaria.Stats, busiest, slowest []tegenaria.SlotStatus) string {
	first, now := past[0], past[len(past)-1]
	rate := 0.0
	if took := now.Elapsed - first.Elapsed; took > 0 {
		rate = float64(now.Responses-first.Responses) / took.Seconds()
	}
	text := fmt.Sprintf("%s: %s, %s, %s, %.1f pages/s, %s waiting", report.Duration(now.Elapsed.Round(time.Second)),
		report.Count(now.Responses, "page"), report.Count(now.ItemScraped, "item"), report.Count(now.ErrorCount, "error"),
		rate, report.Number(now.Pending+now.Delayed))
	if len(busiest) > 0 && busiest[0].Pending > 0 {
		busy := busiest[0]
		text += fmt.Sprintf("; busiest host: %s with %s waiting", busy.Name, report.Number(int64(busy.Pending)))
		if wait := time.Until(busy.Next).Round(100 * time.Millisecond); wait > 0 {
			text += ", the next in " + report.Duration(wait)
		}
	}
	if len(slowest) > 0 {
		text += fmt.Sprintf("; slowest host: %v", report.Slow{Slot: slowest[0].Name, Latency: slowest[0].Latency})
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
