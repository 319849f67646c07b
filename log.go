package tegenaria

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// logger writes what happens in a crawl. Every method checks the level before it does anything.
type logger struct {
	entry *logrus.Entry
	debug bool
}

// newLogger wraps the user's logger; nil logs warnings and errors to stderr.
func newLogger(l *logrus.Logger, spider string) logger {
	if l == nil {
		l = logrus.New()
		l.SetOutput(os.Stderr)
		l.SetLevel(logrus.WarnLevel)
	}
	return logger{entry: l.WithField("spider", spider), debug: l.IsLevelEnabled(logrus.DebugLevel)}
}

// logLength bounds what one message may hold of an error: a server can make it long.
const logLength = 2048

// failure logs a HandleError: what user code did wrong as an error with its stack, the rest as a warning.
func (l logger) failure(herr *HandleError) {
	level := logrus.WarnLevel
	if herr.Stack != nil {
		level = logrus.ErrorLevel
	}
	if !l.entry.Logger.IsLevelEnabled(level) {
		return
	}
	message := herr.Error()
	if len(message) > logLength {
		message = message[:logLength] + "…"
	}
	entry := l.entry
	if herr.Stack != nil {
		entry = entry.WithField("stack", string(herr.Stack))
	}
	entry.Log(level, message)
}

func (l logger) settled(r *Request, outcome Outcome, reason string) {
	if !l.debug {
		return
	}
	l.entry.WithFields(logrus.Fields{"url": urlx.Redact(r.Url), "outcome": outcome.String(), "reason": reason}).Debug("request settled")
}

func (l logger) crowded(slot string, limit int64) {
	l.entry.WithField("host", slot).Warnf("%s holds more than half of the waiting requests, and they need 7/8 of Limits.QueueBytes = %d bytes: "+
		"its further requests are filtered (%s), so that the other hosts live; bound it with Politeness.MaxPages, "+
		"or keep the queue on disk with cache/disk", slot, limit, queueShare)
}

func (l logger) slow(at Stage, r *Request, took time.Duration) {
	l.entry.WithFields(logrus.Fields{"stage": string(at), "url": urlOf(r)}).
		Warnf("a callback is running for %s already", took.Round(time.Second))
}

func (l logger) abandoned(at Stage, r *Request) {
	l.entry.WithFields(logrus.Fields{"stage": string(at), "url": urlOf(r)}).
		Error("a callback did not return and was abandoned")
}

// blocked tells that nothing is asked of a slot for a while; last that no more of these are logged in this minute.
func (l logger) blocked(b SlotBlock, last bool) {
	entry := l.entry.WithFields(logrus.Fields{"slot": b.Slot, "cause": string(b.Cause), "until": b.Until.UTC().Format(time.RFC3339)})
	entry.Warn("nothing is asked of this slot for more than a minute")
	if last {
		l.entry.Warn("further blocked slots are not logged in this minute; the event SlotBlocked and SpiderEngine.Slots tell all")
	}
}

func urlOf(r *Request) string {
	if r == nil {
		return ""
	}
	return urlx.Redact(r.Url)
}

// countsByStage prints counts in the order of their stages' names.
func countsByStage(counts map[Stage]int) string {
	parts := make([]string, 0, len(counts))
	for s, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", s, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
