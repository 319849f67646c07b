package cluster

import "testing"

// It fails if a job of two servers ends while something is left to do, or does not end.
func TestNothingLeft(t *testing.T) {
	done := stand{idle: true, empty: true, changes: changes{sessions: 2, batches: 7, received: 3}}
	change := func(do func(s *stand)) stand {
		s := done
		do(&s)
		return s
	}
	for name, test := range map[string]struct {
		before, now stand // of the second server
		want        bool
	}{
		"done":                       {done, done, true},
		"limit reached":              {change(func(s *stand) { s.idle, s.reached = false, true }), change(func(s *stand) { s.idle, s.reached = false, true }), true},
		"something waits":            {done, change(func(s *stand) { s.idle = false }), false},
		"something has waited":       {change(func(s *stand) { s.idle = false }), done, false},
		"a letter waits":             {done, change(func(s *stand) { s.empty = false }), false},
		"a letter has waited":        {change(func(s *stand) { s.empty = false }), done, false},
		"a letter waits, limit":      {done, change(func(s *stand) { s.empty, s.reached = false, true }), false},
		"a page was settled":         {done, change(func(s *stand) { s.changes.batches++ }), false},
		"a letter has come and gone": {done, change(func(s *stand) { s.changes.received++ }), false},
		"a worker has come":          {done, change(func(s *stand) { s.changes.sessions++ }), false},
	} {
		first := done
		if got := nothingLeft([]*stand{&first, &test.before}, []*stand{&first, &test.now}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := nothingLeft([]*stand{&test.before, &first}, []*stand{&test.now, &first}); got != test.want {
			t.Errorf("%s, on the first server: %v", name, got)
		}
	}
	if nothingLeft(nil, []*stand{&done, &done}) {
		t.Error("one reading is enough")
	}
}
