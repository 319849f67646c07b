package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

// print returns lines as one text.
func print(lines []report.Line) string {
	var b strings.Builder
	for _, l := range lines {
		mark := " "
		if l.Warn {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s%s", mark, l.Text)
		if l.URL != "" {
			fmt.Fprintf(&b, " url=%s", l.URL)
		}
		if l.From != "" {
			fmt.Fprintf(&b, " from=%s", l.From)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestEnded(t *testing.T) {
	full := report.Ended{
		Reason: "finished", Took: 2134 * time.Millisecond, Pages: 254, Items: 240, Bytes: 5_210_000, Hosts: 1, Memory: 31_000_000,
		Outcomes: []report.Tally{
			{Name: "fetched", Count: 252}, {Name: "gave-up"}, {Name: "failed", Count: 3}, {Name: "duplicate", Count: 1200},
			{Name: "filtered", Count: 14, Parts: []report.Tally{{Name: "depth", Count: 4}, {Name: "offsite", Count: 10}}},
		},
		Statuses: []report.Tally{{Name: "200", Count: 252}, {Name: "404", Count: 2}},
		Lost:     []report.Tally{{Name: "dropped", Count: 12}},
		Failures: []report.Kind{
			{Example: report.Failure{Stage: "status", Cause: "status 404", URL: "http://a.test/x", Referrer: "http://a.test/"}, Count: 2},
			{Example: report.Failure{Stage: "parse", Cause: "panic", URL: "http://a.test/y"}, Count: 1},
		},
	}
	many := report.Ended{Reason: "stopped", Took: time.Minute, Pages: 1, Items: 1, Hosts: 2, Waiting: 1}
	for i := range 20 {
		many.Failures = append(many.Failures, report.Kind{Example: report.Failure{Stage: "parse", Cause: fmt.Sprint("cause ", i)}, Count: int64(30 - i)})
		many.Statuses = append(many.Statuses, report.Tally{Name: fmt.Sprint(200 + i), Count: int64(20 - i)})
	}
	tests := []struct {
		name  string
		ended report.Ended
		want  string
	}{
		{"nothing", report.Ended{Reason: "finished"}, " finished: 0 pages, 0 items in 0s, 0 B from 0 hosts\n"},
		{"resumed", report.Ended{Reason: "finished", Pages: 23, Items: 22, Hosts: 1, JobPages: 52, JobItems: 48},
			" finished: 23 pages, 22 items in 0s, 0 B from 1 host\n all runs of the job: 52 pages, 48 items\n"},
		{"one of the workers of a job", report.Ended{Reason: "stopped", Pages: 23, Items: 22, Hosts: 1, JobPages: 52, JobItems: 48,
			Workers: &report.Workers{Pages: 90, Items: 1, Waiting: 1}},
			" stopped: 23 pages, 22 items in 0s, 0 B from 1 host\n all runs of this worker: 52 pages, 48 items\n" +
				" all workers of the job: 90 pages, 1 item; 1 request waiting\n"},
		{"job of one run", report.Ended{Reason: "finished", Pages: 23, Items: 22, Hosts: 1, JobPages: 23, JobItems: 22},
			" finished: 23 pages, 22 items in 0s, 0 B from 1 host\n"},
		{"full", full, ` finished: 254 pages, 240 items in 2.13s (7,142 pages/min), 5.21 MB from 1 host, peak memory 31.0 MB
 requests: 1,200 duplicate, 252 fetched, 14 filtered (10 offsite, 4 depth), 3 failed
 status codes: 252 × 200, 2 × 404
 items: 12 dropped
!2 failures: status 404 url=http://a.test/x from=http://a.test/
!1 failure in the parser: it panicked url=http://a.test/y
!what may help: the site links to pages that do not exist: each line names as referrer the page with the link
`},
		{"many", many, " stopped: 1 page, 1 item in 1m (1.0 pages/min), 0 B from 2 hosts; 1 request waiting for the next run\n" +
			" status codes: 20 × 200, 19 × 201, 18 × 202, 17 × 203, 16 × 204, 15 × 205, 105 others\n" + func() (text string) {
			for i := range 12 {
				text += fmt.Sprintf("!%d failures in the parser: cause %d\n", 30-i, i)
			}
			return text
		}() + "!116 failures of 8 other causes\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := print(tt.ended.Lines()); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	for cause, want := range map[string]string{
		"status 404": "does not exist", "status 503": "middleware.Standard()", "timeout: connect": "RequestWithTimeout", "panic": "stack",
		"certificate": "EngineWithTLSConfig", "private address": "AllowPrivate", "what nobody knows": "", "status 418": "", "": "",
	} {
		if got := report.Advice(report.Failure{Cause: cause}, report.Wired{}); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("Advice(%q) = %q, want %q in it", cause, got, want)
		}
	}
}

// texts returns what lines say, without their numbers.
func texts(lines []report.Line) (list []string) {
	for _, l := range lines {
		list = append(list, fmt.Sprintf("%v %q %q %q", l.Warn, l.Text, l.URL, l.From))
	}
	return list
}

// What a crawl has not found is told, though nothing has failed: ten selectors, then their number. If it has items, its selectors are
// one line. A crawl without items that has one selector or field is in the golden files of e2e.
func TestEndedWithoutItems(t *testing.T) {
	long := "//p" + strings.Repeat("/b", 100)
	var many []report.Query
	for i := range 12 {
		many = append(many, report.Query{Kind: "XPath expression", Text: fmt.Sprintf("//a[%d]", i), Pages: int64(1200 - i)})
	}
	for _, tt := range []struct {
		name string
		e    report.Ended
		want []report.Line
	}{
		{"nothing to say", report.Ended{}, nil},
		{"feeds", report.Ended{Feeds: []report.Feed{
			{Name: "books.csv", Written: 1, Bytes: 12, Parts: 1}, {Name: "books-{part}.jsonl", Written: 1500, Duplicate: 3, Failed: 2, Bytes: 20_000, Parts: 2},
			{Name: "-", Written: 7, Others: 2}, {Name: "books.db", Others: 1200}}}, []report.Line{
			{Text: "books.csv: 1 item, 12 B"}, {Text: "books-{part}.jsonl: 1,500 items, 20.0 kB in 2 files; 3 duplicates left out; 2 failed"}, {Text: "standard output: 7 items"},
			{Text: "books.db: 0 items; 1,200 items not for it: of another type, or not selected"}}},
		{"fields", report.Ended{Items: 60, Unfilled: []report.Tally{{Name: "Book.price", Parts: []report.Tally{{Name: "items", Count: 60}, {Name: "missing", Count: 40}, {Name: "failed", Count: 21}, {Name: "defaulted"}}},
			{Name: "map.\n" + long, Parts: []report.Tally{{Name: "items", Count: 60}}}}}, []report.Line{
			{Warn: true, Text: `2 fields were filled on no item: "Book.price" (60 items, 40 missing, 21 failed), "map.\n` + long[:95] + `…" (60 items)`}}},
		{"a selector, and items", report.Ended{Items: 1, Unmatched: many[:1]}, []report.Line{
			{Warn: true, Text: `the XPath expression "//a[0]" matched nothing on any of the 1,200 pages that it was tried on`}}},
		{"selectors, and items", report.Ended{Items: 1, Unmatched: []report.Query{{"CSS selector", ".sale", 3, "http://a.test/1"}, {"XPath expression", long, 1, ""}}}, []report.Line{
			{Warn: true, URL: "http://a.test/1", Text: `2 selectors matched nothing on any page: the CSS selector ".sale" (3 pages), the XPath expression "` + long[:100] + `…" (1 page)`}}},
		{"many selectors, and items that were dropped", report.Ended{Lost: []report.Tally{{Name: "dropped", Count: 1}}, Unmatched: many}, []report.Line{
			{Text: "items: 1 dropped"},
			{Warn: true, Text: `12 selectors matched nothing on any page: the XPath expression "//a[0]" (1,200 pages), the XPath expression "//a[1]" (1,199 pages), ` +
				`the XPath expression "//a[2]" (1,198 pages), the XPath expression "//a[3]" (1,197 pages), the XPath expression "//a[4]" (1,196 pages), ` +
				`the XPath expression "//a[5]" (1,195 pages), 6 others`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts(tt.e.Lines()[1:]); !slices.Equal(got, texts(tt.want)) {
				t.Errorf("lines\n%+v, want\n%+v", got, tt.want)
			}
		})
	}
	lines := report.Ended{Unmatched: many}.Lines()[1:]
	if len(lines) != 12 || lines[0].Text != `the XPath expression "//a[0]" matched nothing on any of the 1,200 pages that it was tried on` ||
		lines[10].Text != "2 more selectors matched nothing on any page" {
		t.Errorf("of many selectors: %+v", lines)
	}
}
