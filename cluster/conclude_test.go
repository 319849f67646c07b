package cluster

import "testing"

// It fails if a job of two servers ends while something is left to do, or does not end.
func TestNothingLeft(t *testing.T) {
	done := serverStatus{idle: true, empty: true, changes: changes{sessions: 2, batches: 7, received: 3}}
	change := func(do func(s *serverStatus)) serverStatus {
		s := done
		do(&s)
		return s
	}
	for name, test := range map[string]struct {
		before, now serverStatus // of the second server
		want        bool
	}{
		"done":                        {done, done, true},
		"limit reached":               {change(func(s *serverStatus) { s.idle, s.reached = false, true }), change(func(s *serverStatus) { s.idle, s.reached = false, true }), true},
		"something waits":             {done, change(func(s *serverStatus) { s.idle = false }), false},
		"something has waited":        {change(func(s *serverStatus) { s.idle = false }), done, false},
		"a message waits":             {done, change(func(s *serverStatus) { s.empty = false }), false},
		"a message has waited":        {change(func(s *serverStatus) { s.empty = false }), done, false},
		"a message waits, limit":      {done, change(func(s *serverStatus) { s.empty, s.reached = false, true }), false},
		"a page was settled":          {done, change(func(s *serverStatus) { s.changes.batches++ }), false},
		"a message has come and gone": {done, change(func(s *serverStatus) { s.changes.received++ }), false},
		"a worker has come":           {done, change(func(s *serverStatus) { s.changes.sessions++ }), false},
	} {
		first := done
		if got := nothingLeft([]*serverStatus{&first, &test.before}, []*serverStatus{&first, &test.now}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := nothingLeft([]*serverStatus{&test.before, &first}, []*serverStatus{&test.now, &first}); got != test.want {
			t.Errorf("%s, on the first server: %v", name, got)
		}
	}
	if nothingLeft(nil, []*serverStatus{&done, &done}) {
		t.Error("one reading is enough")
	}
}
