// Package remedy says what the settings and the other means that a message advises are called where its reader is. In Go the depth of
// a crawl is "Limits.Depth"; for the user of a command it is "--depth" or "-s limits.depth". Messages name a [Setting], and are in the
// words of Go unless the program is a command, which has called [Speak].
//
//	fmt.Errorf("the limit %s is -1", remedy.Depth.Name()) // "the limit Limits.Depth is -1"
//	fmt.Errorf("raise %s", remedy.Depth)                  // "raise Limits.Depth"; in a command "raise --depth"
package remedy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Setting is what a message is about or advises to change: a field of tegenaria.Settings by its dotted JSON name, or one of the means
// below that are no settings.
type Setting string

// The settings that messages name.
const (
	Concurrency     Setting = "concurrency"
	SchedulerNum    Setting = "scheduler_num"
	ItemConcurrency Setting = "item_concurrency"
	ReadCacheNum    Setting = "read_cache_num"
	EmptyOK         Setting = "empty_ok"
	Grace           Setting = "grace"
	Domains         Setting = "allowed_domains"
	SecretHeaders   Setting = "secret_headers"

	Delay        Setting = "politeness.delay"
	PerSlot      Setting = "politeness.per_slot"
	PerIP        Setting = "politeness.per_ip"
	AutoThrottle Setting = "politeness.auto_throttle"
	Overrides    Setting = "politeness.overrides"
	MaxPages     Setting = "politeness.max_pages"
	UserAgent    Setting = "politeness.user_agent"
	RobotsAgent  Setting = "politeness.robots_agent"
	IgnoreRobots Setting = "politeness.ignore_robots"
	AllowPrivate Setting = "politeness.allow_private"
	DenyLoopback Setting = "politeness.deny_loopback"
	SlotBy       Setting = "politeness.slot_by"

	Depth        Setting = "limits.depth"
	URLLength    Setting = "limits.url_length"
	QueueBytes   Setting = "limits.queue_bytes"
	Body         Setting = "limits.body"
	Spool        Setting = "limits.spool"
	Ratio        Setting = "limits.ratio"
	Nodes        Setting = "limits.nodes"
	Attributes   Setting = "limits.attributes"
	Header       Setting = "limits.header"
	HeaderFields Setting = "limits.header_fields"
	MinRate      Setting = "limits.min_rate"
	Connect      Setting = "limits.connect"
	Handshake    Setting = "limits.handshake"
	FirstByte    Setting = "limits.first_byte"
	Idle         Setting = "limits.idle"
	Callback     Setting = "limits.callback"
)

// The means that are no settings.
const (
	Timeout   Setting = "timeout"          // the longest time of one request
	DiskQueue Setting = "queue on disk"    // a crawl whose queue is on disk, so that it can be resumed
	Fresh     Setting = "fresh"            // begins a finished job anew
	StartOver Setting = "start over"       // what to do with a job of another program: "start it over with …"
	Requeue   Setting = "requeue"          // lets the failed requests of a job run again
	Repair    Setting = "repair"           // saves what can be saved of a damaged job
	TryParser Setting = "try a parser"     // runs a parser on one page
	Overwrite Setting = "overwrite a file" // what to do with a file that is there: "overwrite it with …"
)

// inCode are the words of Go for the means, and for a setting that can be made in two ways.
var inCode = map[Setting]string{
	Domains: "EngineWithAllowedDomains (or ScopeOptions.Domains)", Timeout: "RequestWithTimeout",
	DiskQueue: "EngineWithCache and cache/disk", Fresh: "disk.Fresh()", StartOver: "start it over with disk.Fresh",
	Requeue: "disk.Cache.Replay", Repair: "disk.Repair", TryParser: "spidertest.Parse", Overwrite: "choose Append or Overwrite",
}

// String returns how the setting is made: "Limits.Depth", "EngineWithGrace"; in a command "--depth", "-s grace".
func (s Setting) String() string {
	if words := spoken(); words != nil {
		if text := words(s); text != "" {
			return text
		}
	}
	if text, ok := inCode[s]; ok {
		return text
	}
	return s.InGo()
}

// Name returns what the setting is called beside its value, which may come from anywhere: "Limits.Depth"; in a command "limits.depth".
func (s Setting) Name() string {
	if spoken() != nil {
		return string(s)
	}
	return s.InGo()
}

// InGo returns the name in Go, for messages that only a programmer can get: the field of a group, or the option of the engine.
func (s Setting) InGo() string {
	if rest, ok := strings.CutPrefix(string(s), string(Overrides)+"."); ok {
		dot := strings.LastIndexByte(rest, '.') // the name of a slot may have dots
		return fmt.Sprintf("%s[%q].%s", Overrides.InGo(), rest[:dot], inGo(rest[dot+1:]))
	}
	group, field, grouped := strings.Cut(string(s), ".")
	if !grouped {
		return "EngineWith" + inGo(group)
	}
	return inGo(group) + "." + inGo(field)
}

func inGo(name string) string {
	parts := strings.Split(name, "_")
	for i, part := range parts {
		switch part {
		case "url", "ip", "ok":
			parts[i] = strings.ToUpper(part)
		default:
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}

// speakers are the commands that run, the newest last.
var speakers struct {
	mu   sync.Mutex // guards list
	list []*func(Setting) string
}

// Speak makes messages name settings in the words of a command, until end is called. words may be called concurrently; where it returns
// "", the words of Go are used. Of several commands in one process, such as in tests, the newest has its words.
func Speak(words func(s Setting) string) (end func()) {
	speakers.mu.Lock()
	defer speakers.mu.Unlock()
	speakers.list = append(speakers.list, &words)
	return func() {
		speakers.mu.Lock()
		defer speakers.mu.Unlock()
		speakers.list = slices.DeleteFunc(speakers.list, func(w *func(Setting) string) bool { return w == &words })
	}
}

// spoken returns the words of the command; nil if there is none.
func spoken() func(Setting) string {
	speakers.mu.Lock()
	defer speakers.mu.Unlock()
	if n := len(speakers.list); n > 0 {
		return *speakers.list[n-1]
	}
	return nil
}
