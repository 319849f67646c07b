package cli

import "time"

// AskEvery sets how often --stop-if is asked.
func (a *App) AskEvery(d time.Duration) { a.ask = d }
