package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/report"
)

// decoded returns the fields of a line of JSON, without what loggers add to each.
func decoded(t *testing.T, line []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	for _, own := range []string{"time", "level", "msg", "spider", "run"} {
		delete(fields, own)
	}
	return fields
}

// In JSON the numbers of a line are fields, the same with logrus and slog; as text they are in the message alone.
func TestLogHasNumbersAsFields(t *testing.T) {
	ended := report.Ended{Reason: "finished", Took: 2 * time.Second, Pages: 7, Items: 5, Bytes: 1234, Hosts: 2, Memory: 99, Waiting: 3,
		JobPages: 9, JobItems: 6, Outcomes: []report.Tally{{Name: "fetched", Count: 7}, {Name: "failed"}},
		Statuses: []report.Tally{{Name: "200", Count: 7}}, Lost: []report.Tally{{Name: "dropped", Count: 4}}, Damaged: 1,
		Feeds:     []report.Feed{{Name: "b.jsonl", Written: 5, Duplicate: 1, Bytes: 77, Parts: 1}},
		Failures:  []report.Kind{{Example: report.Failure{Stage: "parse", Cause: "panic"}, Count: 2}},
		Unmatched: []report.Query{{Kind: "CSS selector", Text: "p", Pages: 7}}, Unfilled: []report.Tally{{Name: "Book.price"}}}
	var many report.Ended
	for i := range 20 {
		many.Failures = append(many.Failures, report.Kind{Example: report.Failure{Stage: "parse", Cause: fmt.Sprint(i)}, Count: 3})
		many.Unmatched = append(many.Unmatched, report.Query{Kind: "CSS selector", Text: fmt.Sprint(i), Pages: 7})
	}
	many.Itemless = 4
	sample := report.Sample{At: 3 * time.Minute, Pages: 1200, Items: 2, Waiting: 3, InFlight: 4, Failed: 5, Retried: 6,
		Busiest: report.Busy{Slot: "a.test", Waiting: 3, For: 1500 * time.Millisecond}, Slowest: report.Slow{Slot: "b.test", Latency: 250 * time.Millisecond}}
	stopping := report.Stopping{Reason: "interrupted", Grace: time.Second, Requests: 2, Items: 1, Hosts: []report.Tally{{Name: "a.test", Count: 1}}}
	type object = map[string]any
	tests := []struct {
		name  string
		write func(report.Log)
		want  []object // the fields of the lines
	}{
		{"end", func(l report.Log) { l.Lines(ended.Lines()) }, []object{
			{"end": "finished", "pages": 7.0, "items": 5.0, "seconds": 2.0, "bytes": 1234.0, "hosts": 2.0, "memory": 99.0, "waiting": 3.0},
			{"job_pages": 9.0, "job_items": 6.0}, {"outcomes": object{"fetched": 7.0}}, {"statuses": object{"200": 7.0}},
			{"lost": object{"dropped": 4.0}},
			{"feed": "b.jsonl", "items": 5.0, "duplicates": 1.0, "failed": 0.0, "bytes": 77.0, "files": 1.0},
			{"count": 1.0}, {"count": 2.0, "stage": "parse", "cause": "panic"}, {}, {"fields": 1.0}, {"pages": 7.0},
		}},
		{"end of a worker", func(l report.Log) {
			l.Lines(report.Ended{JobPages: 9, JobItems: 6, Workers: &report.Workers{Pages: 20, Items: 10, Waiting: 4}}.Lines()[1:])
		}, []object{{"worker_pages": 9.0, "worker_items": 6.0}, {"job_pages": 20.0, "job_items": 10.0, "job_waiting": 4.0}}},
		{"many at the end", func(l report.Log) { l.Lines(many.Lines()[13:]) }, []object{{"count": 24.0, "causes": 8.0}, {"pages": 4.0},
			{"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0}, {"pages": 7.0},
			{"pages": 7.0}, {"pages": 7.0}, {"selectors": 10.0}, {}}},
		{"selectors and items", func(l report.Log) {
			l.Lines(report.Ended{Items: 1, Unmatched: many.Unmatched}.Lines()[1:])
		}, []object{{"selectors": 20.0}}},
		{"progress", func(l report.Log) {
			var progress report.Progress
			progress.Line(report.Sample{At: time.Minute, Pages: 200, Items: 2})
			l.Lines([]report.Line{progress.Line(sample)})
		}, []object{{"seconds": 180.0, "pages": 1200.0,
			"pages_per_minute": 500.0, "items": 2.0, "items_per_minute": 0.0, "waiting": 3.0, "in_flight": 4.0, "failed": 5.0,
			"retried": 6.0, "slot": "a.test", "slot_waiting": 3.0, "slot_seconds": 1.5, "slowest_slot": "b.test", "latency_seconds": 0.25}}},
		{"stopping", func(l report.Log) { l.Info("x", stopping.Numbers()) }, []object{{"end": "interrupted", "grace_seconds": 1.0,
			"in_flight": 2.0, "items_in_flight": 1.0}}},
		{"failure", func(l report.Log) { l.Failure("x", nil, report.Fields{Took: 1500 * time.Millisecond}) },
			[]object{{"took": "1.5s", "seconds": 1.5}}},
		{"slow", func(l report.Log) { l.Slow("parse", "", time.Minute) }, []object{{"stage": "parse", "seconds": 60.0}}},
		{"crowded", func(l report.Log) { l.Crowded("a.test", 80, "queue-share") }, []object{{"slot": "a.test", "bytes": 80.0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var byLogrus, bySlog, asText, byDefault bytes.Buffer
			l := logrus.New()
			l.SetOutput(&byLogrus)
			l.SetFormatter(&logrus.JSONFormatter{})
			tt.write(report.NewLog(report.Options{Logrus: l}))
			tt.write(report.NewLog(report.Options{Slog: slog.New(slog.NewJSONHandler(&bySlog, nil)).With("run", 1)}))
			for name, out := range map[string]*bytes.Buffer{"logrus": &byLogrus, "slog": &bySlog} {
				lines := slices.Collect(bytes.Lines(out.Bytes()))
				if len(lines) != len(tt.want) {
					t.Fatalf("%s has %d lines, want %d: %s", name, len(lines), len(tt.want), out)
				}
				for i, line := range lines {
					if got := decoded(t, line); !reflect.DeepEqual(got, tt.want[i]) {
						t.Errorf("%s: the fields are %v, want %v", name, got, tt.want[i])
					}
				}
			}
			l.SetFormatter(&logrus.TextFormatter{})
			l.SetOutput(&asText)
			tt.write(report.NewLog(report.Options{Logrus: l}))
			tt.write(report.NewLog(report.Options{Slog: slog.New(slog.NewTextHandler(&asText, nil))}))
			log.SetOutput(&byDefault)
			defer log.SetOutput(os.Stderr)
			tt.write(report.NewLog(report.Options{Slog: slog.Default()}))
			text := asText.String() + byDefault.String()
			if byDefault.Len() == 0 {
				t.Error("slog.Default has no lines")
			}
			for _, fields := range tt.want {
				for field := range fields {
					if !slices.Contains([]string{"slot", "stage", "took"}, field) && strings.Contains(text, " "+field+"=") {
						t.Errorf("the text has the field %s too: %s", field, text)
					}
				}
			}
		})
	}
}
