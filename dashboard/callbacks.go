package dashboard

import (
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Callback is user code that the engine calls, in the answer of GET /api/v1/callbacks: see [tegenaria.Callback].
type Callback struct {
	Stage   tegenaria.Stage `json:"stage"`
	Name    string          `json:"name"`
	Calls   int64           `json:"calls"`
	Errors  int64           `json:"errors"`
	Mean    string          `json:"mean"`    // of a call, such as "1.5ms"
	P95     string          `json:"p95"`     // 95 of 100 calls took no longer, about
	Seconds float64         `json:"seconds"` // of all calls together
	Share   float64         `json:"share"`   // of the time of all callbacks, from 0 to 1
}

// callbacksOf lists the callbacks of the run, those that took the most time first.
func callbacksOf(e *tegenaria.SpiderEngine) []Callback {
	list, all := []Callback{}, time.Duration(0)
	measured := e.Callbacks()
	for _, c := range measured {
		all += c.Time
	}
	for _, c := range measured {
		list = append(list, Callback{
			Stage: c.Stage, Name: report.Cut(c.Name, maxMessage), Calls: c.Calls, Errors: c.Errors,
			Mean: short(c.Mean()), P95: short(c.Quantile(0.95)),
			Seconds: c.Time.Seconds(), Share: float64(c.Time) / float64(max(all, 1)),
		})
	}
	return list
}

// short prints a duration with three digits or so.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
