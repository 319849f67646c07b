package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/report"
)

const (
	maxLines      = 500 // of the log that are kept
	maxLineFields = 20  // of each
	maxFieldText  = 500 // bytes of each field
	maxFieldName  = 100 // bytes of its name
)

// Line is a line of the log in the answer of GET /api/v1/log. What the log hides is hidden here too.
type Line struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // error, warning, info, debug …
	Message string    `json:"message"`
	Fields  string    `json:"fields,omitempty"` // "key=value key=value", by key
	level   logrus.Level
}

// logLines are the last lines of a log, as a hook of its logger. They may be used concurrently.
type logLines struct {
	mu   sync.Mutex // guards the fields below
	ring []Line
	next int // where the next one goes, once the ring is full
	over bool
}

// Levels is part of [logrus.Hook].
func (*logLines) Levels() []logrus.Level { return logrus.AllLevels }

// Fire is part of [logrus.Hook]: it keeps a line.
func (l *logLines) Fire(e *logrus.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return nil
	case len(l.ring) < maxLines:
		l.ring = append(l.ring, lineOf(e))
	default:
		l.ring[l.next] = lineOf(e)
		l.next = (l.next + 1) % maxLines
	}
	return nil
}

func lineOf(e *logrus.Entry) Line {
	var fields strings.Builder
	for i, name := range slices.Sorted(maps.Keys(e.Data)) {
		if i == maxLineFields {
			fields.WriteString(" …")
			break
		}
		value := report.Cut(fmt.Sprint(e.Data[name]), maxFieldText)
		if strings.ContainsAny(value, " \t\r\n\"=") || value == "" {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&fields, " %s=%s", report.Cut(name, maxFieldName), value)
	}
	return Line{At: e.Time, Level: e.Level.String(), Message: report.Cut(e.Message, maxMessage), Fields: strings.TrimPrefix(fields.String(), " "), level: e.Level}
}

// newest returns the lines of a level and of those above it, the newest first.
func (l *logLines) newest(least logrus.Level) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []Line{}
	for i := range l.ring {
		if line := &l.ring[(l.next+len(l.ring)-1-i)%len(l.ring)]; line.level <= least {
			list = append(list, *line)
		}
	}
	return list
}

// end keeps no further lines.
func (l *logLines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// shownLevels are the levels that a reader of the log can ask for.
var shownLevels = []string{"debug", "info", "warning", "error"}

// levelOf returns the level that a request asks for: its lines and those above it; all lines if it asks for none.
func levelOf(r *http.Request) (logrus.Level, error) {
	name := r.URL.Query().Get("level")
	if name == "" {
		return logrus.TraceLevel, nil
	}
	if !slices.Contains(shownLevels, name) {
		return 0, malformed("level is one of %s", strings.Join(shownLevels, ", "))
	}
	return logrus.ParseLevel(name)
}
