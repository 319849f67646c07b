package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// showProgress writes how the crawl goes on once a second if w is a terminal. The func it returns writes how
// it ended and waits until nothing more is written.
func showProgress(w io.Writer, engine *tegenaria.SpiderEngine) (end func()) {
	file, ok := w.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	over := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(w, "\r\x1b[K%s", progress(engine.Stats()))
			case <-over:
				fmt.Fprintf(w, "\r\x1b[K%s\n", progress(engine.Stats()))
				return
			}
		}
	})
	return func() {
		close(over)
		writer.Wait()
	}
}

// progress says in one line how far a crawl is.
func progress(s tegenaria.Stats) string {
	return fmt.Sprintf("%d fetched, %d failed, %d in flight, %d waiting, %.1f MB, %s",
		s.Outcomes[tegenaria.Fetched], s.Outcomes[tegenaria.Failed]+s.Outcomes[tegenaria.GaveUp],
		s.InFlight, s.Pending+s.Delayed, float64(s.Bytes)/1e6, s.Elapsed.Round(time.Second))
}
