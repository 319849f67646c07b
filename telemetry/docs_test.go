package telemetry_test

import (
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/telemetry"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	tableRow      = regexp.MustCompile("(?m)^\\| `(tegenaria_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\|")
	described     = regexp.MustCompile(`fqName: "([a-z_]+)".* constLabels: \{([^}]*)\}, variableLabels: (.*)}`)
	labelName     = regexp.MustCompile(`[a-z]+`)
	typeLine      = regexp.MustCompile(`(?m)^# TYPE (tegenaria_[a-z_]+) ([a-z]+)$`)
	histogramPart = regexp.MustCompile("_(bucket|sum|count)$")
	metricIn      = regexp.MustCompile(`tegenaria_[a-z_]+`)
)

// table returns what the guide says of each metric: its type and its labels.
func table(t *testing.T) (types, labels map[string]string) {
	types, labels = make(map[string]string), make(map[string]string)
	for _, row := range tableRow.FindAllStringSubmatch(readFile(t, "../docs/guides/metrics.md"), -1) {
		types[row[1]] = row[2]
		labels[row[1]] = strings.Join(labelName.FindAllString(row[3], -1), " ")
	}
	return types, labels
}

// The table of the guide has the metrics that there are, with their labels, and with the types that a scrape says.
func TestTable(t *testing.T) {
	types, labels := table(t)
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	spider := enginetest.NewSpider("http://a.test/")
	e := enginetest.NewEngine(w, spider)
	m := telemetry.NewMetrics(e, telemetry.Options{})
	descs := make(chan *prometheus.Desc, 100)
	m.Describe(descs)
	close(descs)
	has := make(map[string]string)
	for d := range descs {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("%s is described in another way", d)
		}
		constant, _, _ := strings.Cut(parts[2], "=")
		names := labelName.FindAllString(constant+strings.ReplaceAll(parts[3], "<nil>", ""), -1)
		has[parts[1]] = strings.Join(names, " ")
	}
	if !maps.Equal(has, labels) {
		t.Errorf("the guide has %q, the collector %q", labels, has)
	}
	handler := metricsOf(e)
	if err := e.Run(t.Context(), spider.GetName()); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	lines := typeLine.FindAllStringSubmatch(answer.Body.String(), -1)
	if len(lines) < 15 {
		t.Errorf("a scrape has only the types %q", lines)
	}
	for _, line := range lines {
		if types[line[1]] != line[2] {
			t.Errorf("%s is a %s, and a %q in the guide", line[1], line[2], types[line[1]])
		}
	}
}

// Dashboard and rules name metrics that there are.
func TestNames(t *testing.T) {
	types, _ := table(t)
	for _, file := range []string{"grafana.json", "rules.yml"} {
		names := metricIn.FindAllString(readFile(t, "../docs/observability/"+file), -1)
		if len(names) < 10 {
			t.Errorf("%s names only %q", file, names)
		}
		for _, name := range names {
			if types[name] == "" && types[histogramPart.ReplaceAllString(name, "")] != "histogram" {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
	}
}
