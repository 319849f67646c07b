package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// series is a metric with the values of its labels.
type series struct {
	of     *metric
	labels [2]string // as many as the metric has
}

// scrape has the numbers of one scrape. Several numbers of one series are added: of the values that have the label "other", for example.
type scrape map[series]float64

func (s scrape) add(of *metric, value float64, labels ...string) {
	key := series{of: of}
	for i, text := range labels {
		key.labels[i] = strings.ToValidUTF8(text, "\uFFFD") // the client panics without
	}
	s[key] += value
}

func (s scrape) count(of *metric, n int64, labels ...string) { s.add(of, float64(n), labels...) }

func (s scrape) send(metrics chan<- prometheus.Metric) {
	for key, value := range s {
		metrics <- prometheus.MustNewConstMetric(key.of.desc, key.of.kind, value, key.labels[:len(key.of.labels)]...)
	}
}
