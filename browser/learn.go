package browser

import (
	"cmp"
	"container/list"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// PathShape is what [AdaptiveMiddleware] has learnt of the pages of a host whose paths are alike.
type PathShape struct {
	Host    string // with its port, if the URLs have one
	Path    string // such as /products/*; an asterisk stands for a part with digits or dashes, or a long one
	Agreed  int    // how many pages in a row have looked unfinished
	Browser bool   // its pages are rendered without being downloaded first
}

// maxShapes bounds the memory of a learner: the shape that has changed least recently is forgotten.
const maxShapes = 4096

// learner counts for each shape of URLs how many pages in a row have looked unfinished. Shapes without such pages take no memory.
type learner struct {
	enough int // pages that agree

	mu      sync.Mutex // guards the fields below
	shapes  map[string]*list.Element
	recent  *list.List // of *learnt, the one that has changed last first
	parts   [stateParts]uint64
	version uint64
}

// learnt is one shape.
type learnt struct {
	shape  string
	agreed int
}

// stateParts is in how many parts the state is stored: a change of a shape stores its part.
const stateParts = 64

func newLearner(enough int) *learner {
	return &learner{enough: enough, shapes: make(map[string]*list.Element), recent: list.New()}
}

// add counts a page that was downloaded.
func (l *learner) add(shape string, unfinished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agreed := 0
	if known := l.shapes[shape]; known != nil {
		agreed = known.Value.(*learnt).agreed
	}
	switch {
	case unfinished:
		l.set(shape, min(agreed+1, l.enough))
	case agreed > 0:
		l.set(shape, 0)
	}
}

// set stores the count of a shape. Called with mu held.
func (l *learner) set(shape string, agreed int) {
	if known := l.shapes[shape]; known != nil {
		l.recent.MoveToFront(known)
		if known.Value.(*learnt).agreed != agreed {
			known.Value.(*learnt).agreed = agreed
			l.changed(shape)
		}
	} else {
		l.shapes[shape] = l.recent.PushFront(&learnt{shape, agreed})
		l.changed(shape)
	}
	if agreed == 0 {
		l.forget(shape)
	} else if len(l.shapes) > maxShapes {
		l.forget(l.recent.Back().Value.(*learnt).shape)
	}
}

// forget removes a shape. Called with mu held.
func (l *learner) forget(shape string) {
	l.recent.Remove(l.shapes[shape])
	delete(l.shapes, shape)
	l.changed(shape)
}

// changed notes that the part of a shape is to be stored. Called with mu held.
func (l *learner) changed(shape string) {
	l.version++
	l.parts[hash(shape)%stateParts] = l.version
}

// asksBrowser reports whether the pages of a shape are rendered at once.
func (l *learner) asksBrowser(shape string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.shapes[shape]
	return known != nil && known.Value.(*learnt).agreed >= l.enough
}

// list returns all shapes, sorted.
func (l *learner) list() (all []PathShape) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.recent.Front(); e != nil; e = e.Next() {
		one := e.Value.(*learnt)
		host, path, _ := strings.Cut(one.shape, "/")
		all = append(all, PathShape{Host: host, Path: "/" + path, Agreed: one.agreed, Browser: one.agreed >= l.enough})
	}
	slices.SortFunc(all, func(a, b PathShape) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Path, b.Path))
	})
	return all
}

// reset forgets everything.
func (l *learner) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for shape := range l.shapes {
		l.forget(shape)
	}
}

// restore adds what a durable job has stored.
func (l *learner) restore(state map[string][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stored := range state {
		if len(stored) == 0 {
			continue
		}
		var part map[string]int
		if err := json.Unmarshal(stored, &part); err != nil {
			return fmt.Errorf("browser: what Adaptive has stored cannot be read: %w", err)
		}
		for shape, agreed := range part {
			if agreed > 0 && strings.Contains(shape, "/") {
				l.set(shape, min(agreed, l.enough))
			}
		}
	}
	return nil
}

// changedState returns the parts that have changed since a version.
func (l *learner) changedState(since uint64) (state map[string][]byte, version uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version == since {
		return nil, since, nil
	}
	parts := make(map[uint32]map[string]int)
	for part, changed := range l.parts {
		if changed > since {
			parts[uint32(part)] = make(map[string]int)
		}
	}
	for shape, e := range l.shapes {
		if part := parts[hash(shape)%stateParts]; part != nil {
			part[shape] = e.Value.(*learnt).agreed
		}
	}
	state = make(map[string][]byte, len(parts))
	for number, part := range parts {
		var stored []byte
		if len(part) > 0 {
			if stored, err = json.Marshal(part); err != nil {
				return nil, since, fmt.Errorf("browser: what Adaptive has learnt cannot be stored: %w", err)
			}
		}
		state[strconv.Itoa(int(number))] = stored
	}
	return state, l.version, nil
}

// hash is the same in each process, so that a job that goes on decides as before.
func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// Bounds of a shape.
const (
	shapeParts = 12 // of a path; further ones are left out
	shapeWord  = 24 // bytes of a part that stands for itself
)

// shapeOf returns host and path of a URL, with asterisks for the parts of the path that are likely to differ from page to page: those with
// digits, dashes, underscores and escapes, and long ones.
func shapeOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "/"
	}
	var shape strings.Builder
	shape.WriteString(strings.ToLower(u.Host))
	parts := 0
	for part := range strings.SplitSeq(strings.TrimPrefix(u.EscapedPath(), "/"), "/") {
		if parts++; parts > shapeParts {
			break
		}
		if len(part) > shapeWord || strings.ContainsAny(part, "0123456789-_%") {
			part = "*"
		}
		shape.WriteString("/" + part)
	}
	return shape.String()
}
