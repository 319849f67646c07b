package archtest_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tegenaria/tegenaria/internal/archtest"
)

// Each way in which the documents can tell of another house is found. It fails if one of the checks of Story is not made.
func TestStory(t *testing.T) {
	good := map[string]string{
		"accept.go":            file("type acceptor struct{}\nfunc (*acceptor) accept() {}\nfunc plain() {}", 0),
		"inbox_test.go":        file("func (*inbox) receive() {}", 0),
		"internal/queue/q.go":  "package queue\n\nfunc (*Queue[T]) Take() {}\n",
		"internal/queue/q2.go": "package queue\n",
	}
	step := func(i int, funcs string) string {
		return fmt.Sprintf("//  %d. Step%d. It is taken\n//     (%s).\n", i, i, funcs)
	}
	story := func(last string) string {
		var s strings.Builder
		s.WriteString("// Package p is a house.\n//\n// Steps:\n//\n")
		for i := range 8 {
			s.WriteString(step(i+1, "acceptor.accept in\n//     accept.go, Queue.Take in internal/queue"))
		}
		return s.String() + step(9, last) + "package p\n"
	}
	page := func(steps int, rest string) string {
		var s strings.Builder
		for i := range steps {
			fmt.Fprintf(&s, "%d. **Step%d.** It is taken.\n", i+1, i+1)
		}
		return s.String() + rest
	}
	const follow = "**To follow one page**, read `accept.go`, `internal/queue/q.go`.\n"
	const room = follow + "`internal/queue` is a queue.\n"
	for _, c := range []struct {
		name, doc, page string
		where, words    string // of the one problem; "" = none
	}{
		{"as it is", story("plain in accept.go"), page(9, room), "", ""},
		{"a func that is gone", story("start in accept.go"), page(9, room), "doc.go", "step 9 names start, which accept.go does not have"},
		{"a method of another type", story("queue.accept in accept.go"), page(9, room), "doc.go", "names queue.accept"},
		{"a method called a func", story("accept in accept.go"), page(9, room), "doc.go", "names accept,"},
		{"a file that is gone", story("plain in verbs.go"), page(9, room), "doc.go", "verbs.go does not have"},
		{"a func of a test", story("inbox.receive in inbox_test.go"), page(9, room), "doc.go", "names inbox.receive"},
		{"a step without a func", story("in the queue"), page(9, room), "doc.go", "step 9 names no func"},
		{"no package comment", "package p\n", page(9, room), "doc.go", "has no package comment"},
		{"eight steps on the page", story("plain in accept.go"), page(8, room), "doc.go", "tell the same 9"},
		{"another step on the page", story("plain in accept.go"), page(8, "9. **End.** Ends.\n"+room), "doc.go", "tell the same 9"},
		{"a page that leaves a room out", story("plain in accept.go"), page(9, follow), "docs/architecture.md", "what internal/queue is for"},
		{"a page without a way", story("plain in accept.go"), page(9, "`internal/queue`"), "docs/architecture.md", "lists no files"},
		{"a page with a room that is gone", story("plain in accept.go"), page(9, room+"`internal/old`"), "docs/architecture.md", "names internal/old"},
		{"a page with a file that is gone", story("plain in accept.go"), page(9, room+"`old.go`"), "docs/architecture.md", "names old.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources := maps.Clone(good)
			sources["doc.go"] = c.doc
			tree := fstest.MapFS{}
			for path, src := range sources {
				tree[path] = &fstest.MapFile{Data: []byte(src)}
			}
			files, err := archtest.Parse(tree)
			if err != nil {
				t.Fatal(err)
			}
			want(t, archtest.Story(files, c.page), c.where, c.words)
		})
	}
}
