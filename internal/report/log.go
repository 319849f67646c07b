// Package report shows what a crawl does: a [Log] writes it down, [Subscriptions] hand errors to the
// readers of channels, [Counters] and [Failures] count, [Progress] and [Ended] put numbers into words. It knows no
// request and no spider: it is given texts, numbers and errors.
//
// The way of a failure: it is counted, written to the log unless there were many of its kind, and published to whoever has
// subscribed. At the end all kinds are logged with a number and an example.
//
//	log := report.NewLog(report.Options{Spider: "quotes"})
//	errs := subscriptions.Subscribe(func(n int64) error { return fmt.Errorf("%d errors were missed", n) })
//	counters.Errors.Add(1)
//	if failures.Add(report.Failure{Stage: "download", Cause: "timeout", URL: url}) {
//		log.Failure(report.Message("download", errtext.Beside(err, url), false), nil, report.Fields{URL: url, Stage: "download"})
//	}
//	subscriptions.Publish(err)
//	log.Lines(report.Ended{Reason: "finished", Failures: failures.All()}.Lines())
//	subscriptions.Close() // errs is closed after the last error
package report

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	slogrus "github.com/sirupsen/logrus/hooks/slog"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/remedy"
)

// Options say where the log of a crawl goes, and what is in it.
type Options struct {
	Spider string
	Alone  bool                   // the engine has no other spider: lines on a terminal do not name it
	Logrus *logrus.Logger         // nil: Slog; if that is nil too, lines of info level and above go to stderr
	Slog   *slog.Logger           // used if Logrus is nil
	Quiet  bool                   // only warnings and errors: nothing about how the crawl goes
	IsOurs func(call string) bool // reports whether a call in a stack is one of the framework; nil: none is
}

// Log writes the log of one crawl; every line has the name of its spider, see [Options]. Methods may be called
// concurrently, and look at the level before they do anything.
type Log struct {
	entry    *logrus.Entry
	info     bool
	debug    bool
	terminal bool // somebody reads it as it comes
	numbers  bool // lines have the numbers of their text as fields
	isOurs   func(call string) bool
}

// NewLog returns the log of a crawl. Levels are asked for now: one that is changed later counts for warnings and errors alone.
func NewLog(o Options) Log {
	l := o.Logrus
	switch {
	case l != nil:
	case o.Slog != nil:
		l = logrus.New()
		l.SetOutput(io.Discard)
		l.AddHook(slogrus.NewHook(slog.New(sorted{o.Slog.Handler()}), nil))
		l.SetLevel(logrus.InfoLevel)
		for _, level := range []logrus.Level{logrus.DebugLevel, logrus.InfoLevel, logrus.WarnLevel, logrus.ErrorLevel} {
			if l.SetLevel(level); o.Slog.Enabled(context.Background(), slogrus.Level(level).Level()) {
				break
			}
		}
	default:
		l = logrus.New()
		l.SetOutput(os.Stderr)
	}
	if o.IsOurs == nil {
		o.IsOurs = func(string) bool { return false }
	}
	entry, terminal := l.WithField("spider", o.Spider), isTerminal(l)
	if terminal && o.Alone {
		entry = logrus.NewEntry(l)
	}
	return Log{
		entry: entry, isOurs: o.IsOurs, terminal: terminal, numbers: !isText(o),
		info: !o.Quiet && l.IsLevelEnabled(logrus.InfoLevel), debug: !o.Quiet && l.IsLevelEnabled(logrus.DebugLevel),
	}
}

// sorted hands records on with their fields in the order of their names, as logrus writes them; its hook has them in none. It drops
// the errors of the handler, as a slog.Logger does: logrus would print them to stderr. A handler that panics loses its
// line, and ends no crawl.
type sorted struct{ slog.Handler }

func (s sorted) Handle(ctx context.Context, r slog.Record) error {
	var fields []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, a)
		return true
	})
	slices.SortFunc(fields, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	in := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	in.AddAttrs(fields...)
	_ = guard.Protect(func() error { return s.Handler.Handle(ctx, in) })
	return nil
}

func (s sorted) WithAttrs(fields []slog.Attr) slog.Handler {
	return sorted{s.Handler.WithAttrs(fields)}
}

func (s sorted) WithGroup(name string) slog.Handler { return sorted{s.Handler.WithGroup(name)} }

// isText reports whether lines are written as text, whose reader has the numbers in the message.
func isText(o Options) bool {
	switch {
	case o.Logrus != nil:
		_, text := o.Logrus.Formatter.(*logrus.TextFormatter)
		return text
	case o.Slog != nil:
		h := o.Slog.Handler()
		_, text := h.(*slog.TextHandler)
		return text || fmt.Sprintf("%T", h) == "*slog.defaultHandler" // of slog.Default, which has no exported type
	}
	return true
}

// isTerminal reports whether lines go to a terminal as text.
func isTerminal(l *logrus.Logger) bool {
	file, ok := l.Out.(*os.File)
	if _, text := l.Formatter.(*logrus.TextFormatter); !ok || !text {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// HasInfo reports whether it is logged how the crawl goes.
func (l Log) HasInfo() bool { return l.info }

// HasDebug reports whether the end of each request is logged.
func (l Log) HasDebug() bool { return l.debug }

// Fields are what a line says of a request. Those that are zero are left out.
type Fields struct {
	URL      string
	Slot     string
	Stage    string
	Referrer string        // the page that led to the request
	Status   int           // of the response
	Attempt  int           // how often it was tried before
	Depth    int           // hops from a seed
	Took     time.Duration // by the download
	Bytes    int64         // of the body
}

func (f Fields) logrus() logrus.Fields {
	fields := make(logrus.Fields, 8)
	for name, text := range map[string]string{"url": f.URL, "slot": f.Slot, "stage": f.Stage, "referrer": f.Referrer} {
		if text != "" {
			fields[name] = text
		}
	}
	for name, n := range map[string]int64{"status": int64(f.Status), "attempt": int64(f.Attempt), "depth": int64(f.Depth), "bytes": f.Bytes} {
		if n != 0 {
			fields[name] = n
		}
	}
	if f.Took != 0 {
		fields["took"] = Duration(f.Took)
	}
	return fields
}

// Numbers are the numbers of a line's text, and the names that belong to them, by the names of fields.
type Numbers map[string]any

// with returns the entry of a line with these numbers, unless lines are text.
func (l Log) with(f Fields, n Numbers) *logrus.Entry {
	fields := f.logrus()
	if l.numbers {
		if f.Took != 0 {
			fields["seconds"] = f.Took.Seconds()
		}
		maps.Copy(fields, n)
	}
	return l.entry.WithFields(fields)
}

// Info logs how the crawl goes.
func (l Log) Info(text string, numbers Numbers) {
	if l.info {
		l.with(Fields{}, numbers).Info(text)
	}
}

// Lines logs lines that belong together: those that warn as warnings, the others as Info does.
func (l Log) Lines(lines []Line) {
	for _, line := range lines {
		entry := l.with(Fields{URL: line.URL, Referrer: line.From}, line.Numbers)
		switch {
		case line.Warn:
			entry.Warn(line.Text)
		case l.info:
			entry.Info(line.Text)
		}
	}
}

type logKey struct{}

// In returns a context of the run, by which its parts can [Warn].
func (l Log) In(ctx context.Context) context.Context { return context.WithValue(ctx, logKey{}, l) }

// Warn logs a warning in the log of the run that a context is of; if it is of none, nothing happens.
func Warn(ctx context.Context, text string) {
	if l, ok := ctx.Value(logKey{}).(Log); ok {
		l.Warn(text)
	}
}

// Warn logs a warning. The values are printed as fmt.Sprint does.
func (l Log) Warn(values ...any) { l.entry.Warn(values...) }

// Warnf logs a warning in the format of package fmt.
func (l Log) Warnf(format string, values ...any) { l.entry.Warnf(format, values...) }

// mostOfMessage bounds what one line may hold of an error, in bytes: a server can make it long.
const mostOfMessage = 2048

// Failure logs the message of a failure: with the stack of a panic as an error, without one (nil) as a warning. Of a
// long message the beginning is logged. The stack is written frame by frame, the user's own code first: on a terminal
// below the message, elsewhere as a field.
func (l Log) Failure(message string, stack []byte, f Fields) {
	level := logrus.WarnLevel
	if stack != nil {
		level = logrus.ErrorLevel
	}
	if !l.entry.Logger.IsLevelEnabled(level) {
		return
	}
	if len(message) > mostOfMessage {
		message = message[:mostOfMessage] + "…"
	}
	fields := l.with(f, nil).Data
	switch frames := Frames(stack, l.isOurs); {
	case stack == nil:
	case len(frames) == 0:
		fields["stack"] = string(stack)
	case l.terminal:
		var b strings.Builder
		b.WriteString(message)
		for _, frame := range frames {
			b.WriteString("\n    " + frame.Call)
			if frame.At != "" {
				b.WriteString("\n        " + frame.At)
			}
		}
		b.WriteString("\n   ") // the fields have a line of their own
		message = b.String()
	default:
		lines := make([]string, len(frames))
		for i, frame := range frames {
			lines[i] = frame.String()
		}
		fields["stack"] = strings.Join(lines, "\n")
	}
	l.entry.WithFields(fields).Log(level, message)
}

// Settled logs the end of a request, at debug level.
func (l Log) Settled(outcome, reason string, f Fields) {
	if !l.debug {
		return
	}
	fields := l.with(f, nil).Data
	fields["outcome"] = outcome
	if reason != "" {
		fields["reason"] = reason
	}
	l.entry.WithFields(fields).Debug("request settled")
}

// Item logs the end of an item of this type, at debug level: it was "scraped", "dropped" or "failed".
func (l Log) Item(outcome, reason, itemType, url string) {
	if !l.debug {
		return
	}
	fields := Fields{URL: url}.logrus()
	fields["outcome"], fields["type"] = outcome, itemType
	if reason != "" {
		fields["reason"] = reason
	}
	l.entry.WithFields(fields).Debug("item ended")
}

// Dropped logs that a pipeline has dropped an item, and why. Of a long text the beginning is logged.
func (l Log) Dropped(text, reason, itemType, url string) {
	if l.info {
		fields := Fields{URL: url}.logrus()
		fields["reason"], fields["type"] = reason, itemType
		l.entry.WithFields(fields).Info("item dropped: " + Cut(text, mostOfMessage))
	}
}

// Crowded warns that the requests of a host are refused for this reason, because they take too much of the queue, whose limit is in bytes.
func (l Log) Crowded(host string, limit int64, reason string) {
	l.with(Fields{Slot: host}, Numbers{"bytes": limit}).Warnf("%s holds more than half of the waiting requests, and they "+
		"need 7/8 of %s = %d bytes: "+
		"its further requests are filtered (%s), so that the other hosts live; bound it with %s, "+
		"or keep the queue on disk (%s)", host, remedy.QueueBytes.Name(), limit, reason, remedy.MaxPages, remedy.DiskQueue)
}

// SameRedirect warns that this many pages were redirected to the same target, which was requested before: none of them
// has come to a parser. The page is the last of them.
func (l Log) SameRedirect(target, page string, pages int) {
	l.with(Fields{URL: page}, Numbers{"pages": int64(pages)}).Warnf("%d pages were redirected to %s, which was requested "+
		"before: no parser sees them, and they "+
		"count as \"duplicate: redirect\"; if a login leads there, the session has ended: a middleware that logs in again "+
		"and returns Retry keeps such pages", pages, Cut(target, mostOfMessage))
}

// Crashed warns that the process has died that often in a row while a request was in flight.
func (l Log) Crashed(url string, crashes int) {
	l.entry.WithFields(logrus.Fields{"url": url, "crashes": crashes}).
		Warn("the process died while this request was in flight: it runs alone")
}

// Slow warns that a callback of a stage has been running for a while. The URL of its request is empty if it has none.
func (l Log) Slow(stage, url string, took time.Duration) {
	l.with(Fields{URL: url, Stage: stage}, Numbers{"seconds": took.Seconds()}).Warnf("%s has been running for %s", Code(stage), took.Round(time.Second))
}

// Abandoned logs that a callback of a stage was given up.
func (l Log) Abandoned(stage, url string) {
	l.entry.WithFields(Fields{URL: url, Stage: stage}.logrus()).Error(Code(stage) + " did not return and was left behind")
}

// Blocked warns that no request of a slot will start before a time. last says that no such line follows in this minute.
func (l Log) Blocked(slot, cause string, until time.Time, last bool) {
	entry := l.entry.WithFields(logrus.Fields{"slot": slot, "cause": cause, "until": until.UTC().Format(time.RFC3339)})
	entry.Warn("nothing is asked of this slot for more than a minute")
	if last {
		l.entry.Warn("further blocked slots are not logged in this minute; the event SlotBlocked and SpiderEngine.Slots report all")
	}
}
