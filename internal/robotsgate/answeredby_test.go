package robotsgate_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

// A response that has lost its rules on the way is refused, and the error names who has lost them. It fails when Check lets every
// response pass.
func TestAnsweredBy(t *testing.T) {
	const url = "https://a.example/robots.txt"
	header := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	untouched := func(*robotsgate.AnsweredBy) {}
	answered := func(h *robotsgate.AnsweredBy) { h.Answered("stored") }
	emptied := func(h *robotsgate.AnsweredBy) { h.Emptied("eraser") }
	both := func(h *robotsgate.AnsweredBy) { h.Answered("stored"); h.Emptied("eraser") }
	for _, tt := range []struct {
		name    string
		touch   func(h *robotsgate.AnsweredBy)
		status  int
		header  map[string][]string
		hasBody bool
		by      string // who is named; "": nobody
		missing string
	}{
		{"untouched", untouched, 200, nil, true, "", ""},
		{"untouched and empty", untouched, 200, nil, false, "", ""},
		{"untouched 301 without Location", untouched, 301, nil, false, "", ""},
		{"answered", answered, 200, nil, true, "", ""},
		{"answered, empty", answered, 200, nil, false, "stored", "body"},
		{"answered, no status", answered, 0, nil, false, "stored", "body"},
		{"answered, 206, empty", answered, 206, nil, false, "stored", "body"},
		{"answered, another length", answered, 200, header("Content-Length", "10"), false, "stored", "body"},
		{"answered, says it is empty", answered, 200, header("Content-Length", " 0 "), false, "", ""},
		{"answered, 204", answered, 204, nil, false, "", ""},
		{"answered, 205", answered, 205, nil, false, "", ""},
		{"answered, 404", answered, 404, nil, false, "", ""},
		{"answered, 500", answered, 500, nil, false, "", ""},
		{"answered, 301 without Location", answered, 301, nil, true, "stored", "Location"},
		{"answered, 304", answered, 304, header("Location", "/r"), false, "stored", "Location"},
		{"answered, 301", answered, 301, header("Location", "/r"), false, "", ""},
		{"emptied", emptied, 200, nil, false, "eraser", "body"},
		{"emptied, and filled again", emptied, 200, nil, true, "", ""},
		{"emptied, 404", emptied, 404, nil, false, "", ""},
		{"emptied, 301 without Location", emptied, 301, nil, false, "", ""},
		{"answered by one, emptied by another", both, 200, nil, false, "eraser", "body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h robotsgate.AnsweredBy
			tt.touch(&h)
			err := h.Check(url, tt.status, tt.header, tt.hasBody)
			var wrong *robotsgate.AnswerError
			if errors.As(err, &wrong) != (tt.by != "") {
				t.Fatalf("%v, want an error that names %q", err, tt.by)
			}
			if wrong != nil && *wrong != (robotsgate.AnswerError{URL: url, Middleware: tt.by, Missing: tt.missing}) {
				t.Errorf("%+v, want %q without %s", *wrong, tt.by, tt.missing)
			}
		})
	}
}
