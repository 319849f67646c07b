package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/telemetry"
)

// metricsOf returns the handler of the metrics of an engine.
func metricsOf(engine *tegenaria.SpiderEngine) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewMetrics(engine, telemetry.Options{Hosts: 50}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

func ExampleNewMetrics() {
	shop := enginetest.NewWorld().Page("http://shop.example/", enginetest.Text("Dune"))
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(r.String())
	})
	spider := tegenaria.NewSpider("shop", parser, "http://shop.example/")
	engine := enginetest.NewEngine(shop, spider)
	handler := metricsOf(engine)
	if err := engine.Run(context.Background(), "shop"); err != nil {
		fmt.Println(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "tegenaria_items_total") || strings.HasPrefix(line, "tegenaria_responses_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// tegenaria_items_total{result="dropped"} 0
	// tegenaria_items_total{result="failed"} 0
	// tegenaria_items_total{result="scraped"} 1
	// tegenaria_responses_total{code="200"} 1
}
