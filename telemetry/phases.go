package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tegenaria/tegenaria"
)

// phaseNames are the phases of a download, in their order.
var phaseNames = [...]string{"lookup", "connect", "handshake", "first_byte", "body"}

// phases are the histograms of how long the phases of the downloads of a run took.
type phases [len(phaseNames)]prometheus.Histogram

func newPhases() *phases {
	var p phases
	for i, name := range phaseNames {
		p[i] = prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: downloadSeconds, Help: "How long the phases of downloads took.", ConstLabels: prometheus.Labels{"phase": name},
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16), // to half a minute
		})
	}
	return &p
}

// observe counts a response. A phase that it did not have, such as the handshake where a connection was used again, is not counted.
func (p *phases) observe(t *tegenaria.Transfer) {
	for i, took := range [len(phaseNames)]time.Duration{t.Lookup, t.Connect, t.Handshake, t.FirstByte, t.Body} {
		if took > 0 {
			p[i].Observe(took.Seconds())
		}
	}
}
