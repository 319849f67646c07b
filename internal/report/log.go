// Package report says what a crawl does, to those who watch it: a [Log] writes it down, [Subscriptions] hand errors to the readers
// of channels, [Counters] count. It knows no request and no spider: it is given texts, numbers and errors.
//
// The way of a failure: it is counted, written to the log, and published to whoever has subscribed.
//
//	log := report.NewLog(nil, "quotes")
//	errs := subscriptions.Subscribe(func(n int64) error { return fmt.Errorf("%d errors were missed", n) })
//	counters.Errors.Add(1)
//	log.Failure(err, nil)
//	subscriptions.Publish(err)
//	subscriptions.Close() // errs is closed after the last error
package report

import (
	"os"
	"time"

	"github.com/sirupsen/logrus"
)

// Log writes the log of one crawl; every line has the name of its spider. Methods may be called concurrently, and look at the
// level before they do anything.
type Log struct {
	entry *logrus.Entry
	debug bool
}

// NewLog returns the log of a spider's crawl in l; nil is a logger of warnings and errors to stderr.
func NewLog(l *logrus.Logger, spider string) Log {
	if l == nil {
		l = logrus.New()
		l.SetOutput(os.Stderr)
		l.SetLevel(logrus.WarnLevel)
	}
	return Log{entry: l.WithField("spider", spider), debug: l.IsLevelEnabled(logrus.DebugLevel)}
}

// HasDebug reports whether the end of each request is logged. It is asked for once, when the log is made.
func (l Log) HasDebug() bool { return l.debug }

// Warn logs a warning. The values are printed as fmt.Sprint does.
func (l Log) Warn(values ...any) { l.entry.Warn(values...) }

// Warnf logs a warning in the format of package fmt.
func (l Log) Warnf(format string, values ...any) { l.entry.Warnf(format, values...) }

// mostOfMessage bounds what one line may hold of an error, in bytes: a server can make it long.
const mostOfMessage = 2048

// Failure logs an error: with the stack of a panic as an error, without one (nil) as a warning. Of a long message the beginning is logged.
func (l Log) Failure(err error, stack []byte) {
	level := logrus.WarnLevel
	if stack != nil {
		level = logrus.ErrorLevel
	}
	if !l.entry.Logger.IsLevelEnabled(level) {
		return
	}
	message := err.Error()
	if len(message) > mostOfMessage {
		message = message[:mostOfMessage] + "…"
	}
	entry := l.entry
	if stack != nil {
		entry = entry.WithField("stack", string(stack))
	}
	entry.Log(level, message)
}

// Settled logs the end of a request, at debug level.
func (l Log) Settled(url, outcome, reason string) {
	if l.debug {
		l.entry.WithFields(logrus.Fields{"url": url, "outcome": outcome, "reason": reason}).Debug("request settled")
	}
}

// Crowded warns that the requests of a host are refused for this reason, because they take too much of the queue, whose limit is in bytes.
func (l Log) Crowded(host string, limit int64, reason string) {
	l.entry.WithField("host", host).Warnf("%s holds more than half of the waiting requests, and they need 7/8 of Limits.QueueBytes = %d bytes: "+
		"its further requests are filtered (%s), so that the other hosts live; bound it with Politeness.MaxPages, "+
		"or keep the queue on disk with cache/disk", host, limit, reason)
}

// Crashed warns that the process has died that often in a row while a request was in flight.
func (l Log) Crashed(url string, crashes int) {
	l.entry.WithFields(logrus.Fields{"url": url, "crashes": crashes}).
		Warn("the process died while this request was in flight: it runs alone")
}

// Slow warns that a callback of a stage has been running for a while. The URL of its request is empty if it has none.
func (l Log) Slow(stage, url string, took time.Duration) {
	l.at(stage, url).Warnf("a callback is running for %s already", took.Round(time.Second))
}

// Abandoned logs that a callback of a stage was given up.
func (l Log) Abandoned(stage, url string) {
	l.at(stage, url).Error("a callback did not return and was abandoned")
}

func (l Log) at(stage, url string) *logrus.Entry {
	return l.entry.WithFields(logrus.Fields{"stage": stage, "url": url})
}

// Blocked warns that no request of a slot will start before a time. last says that no such line follows in this minute.
func (l Log) Blocked(slot, cause string, until time.Time, last bool) {
	entry := l.entry.WithFields(logrus.Fields{"slot": slot, "cause": cause, "until": until.UTC().Format(time.RFC3339)})
	entry.Warn("nothing is asked of this slot for more than a minute")
	if last {
		l.entry.Warn("further blocked slots are not logged in this minute; the event SlotBlocked and SpiderEngine.Slots tell all")
	}
}
