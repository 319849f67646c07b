package tegenaria_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// baseless is a spider that forgot to set its BaseSpider; deep embeds one.
type baseless struct{ *tegenaria.BaseSpider }

func (*baseless) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

type deep struct{ baseless }

// named has a name of its own, so that only StartRequest would notice.
type named struct{ baseless }

func (*named) GetName() string { return "test" }

// byValue embeds BaseSpider by value.
type byValue struct{ tegenaria.BaseSpider }

func (*byValue) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

// unnameable has a GetName that panics.
type unnameable struct{ *testSpider }

func (unnameable) GetName() string { panic("no name") }

// Mistakes that used to show at the first page, or not at all.
func TestMoreWiringMistakes(t *testing.T) {
	other := tegenaria.EngineWithConcurrency(0) // is told as well
	polite := func(agent string) tegenaria.EngineOption {
		return tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: agent})
	}
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want []string
	}{
		{"line end in the agent", []tegenaria.EngineOption{polite("spidey\r\nX: y")}, []string{"Politeness.UserAgent", `spidey\r\nX: y`, "control characters"}},
		{"DEL in the agent", []tegenaria.EngineOption{polite("spidey\x7f")}, []string{"Politeness.UserAgent"}},
		{"nil func", []tegenaria.EngineOption{tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc[string](1, nil), tegenaria.PipelineFunc[*collector](1, nil))},
			[]string{"PipelineFunc[string]: the func is nil", "PipelineFunc[*tegenaria_test.collector]: the func is nil"}},
		{"wildcard", []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("*.example.com", "https://b.test", "ok.test")},
			[]string{`"*.example.com" is no host`, `"https://b.test" is no host`, "example.com", "includes its sub-domains"}},
		{"nil BaseSpider", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(&baseless{}, &deep{}, &named{}, baseless2{})},
			[]string{"embedded in *tegenaria_test.baseless is nil", "embedded in *tegenaria_test.deep is nil", "embedded in *tegenaria_test.named is nil",
				"embedded in tegenaria_test.baseless2 is nil", "&tegenaria.BaseSpider{", "by value"}},
		{"GetName that panics", []tegenaria.EngineOption{tegenaria.EngineWithSpiders(unnameable{})}, []string{"GetName of tegenaria_test.unnameable", "no name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			err := newEngine(w, newSpider("http://a.test/"), append(tt.opts, other)...).Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" {
				t.Fatalf("Run returned %v, want a *RunError of wiring", err)
			}
			for _, want := range append(tt.want, "EngineWithConcurrency is 0") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "nil pointer") || len(w.visits()) != 0 {
				t.Errorf("asked %q: %v", w.urls(), err)
			}
		})
	}
}

// baseless2 is used by value.
type baseless2 struct{ *tegenaria.BaseSpider }

func (baseless2) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

func TestNilParserIsAMistake(t *testing.T) {
	s := tegenaria.NewSpider("test", nil, "http://a.test/")
	check := func(err error) {
		t.Helper()
		var wiring *tegenaria.RunError
		if !errors.As(err, &wiring) || wiring.Op != "wiring" || !strings.Contains(err.Error(), `NewSpider("test"): the parser is nil`) {
			t.Errorf("Run returned %v", err)
		}
	}
	check(newEngine(newWorld(), s).Run(t.Context(), "test"))
	for _, err := range tegenaria.Crawl[int](t.Context(), s) {
		check(err)
	}
}

// What looks similar and is none stays allowed.
func TestNoMistake(t *testing.T) {
	s := &byValue{tegenaria.BaseSpider{Name: "test", FeedUrls: []string{"http://a.test/"}}}
	w := onePage()
	mustRun(t, newEngine(w, s, tegenaria.EngineWithAllowedDomains("a.test", ".b.test", "c.test:80", "[::1]:80", "192.0.2.1"),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{UserAgent: "Spidéy/1.0 (+http://x.test)", IgnoreRobots: true})))
	if w.count("http://a.test/") != 1 {
		t.Errorf("asked %q", w.urls())
	}
}

type quote struct{ Text string }
