// Package telemetry shows the numbers of a crawl to monitoring systems.
//
//	registry := prometheus.NewRegistry()
//	registry.MustRegister(telemetry.NewMetrics(engine, telemetry.Options{})) // before engine.Run
//	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// [Metrics] is a collector of Prometheus. It reads the engine's own counters when it is scraped, so that its numbers are those of
// [tegenaria.Stats], and keeps nothing itself except how long the phases of downloads took, and how many failures there were at each
// stage. The command does all of this with
// crawl --listen ADDRESS. docs/guides/metrics.md lists the metrics.
package telemetry
