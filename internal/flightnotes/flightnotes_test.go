package flightnotes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/flightnotes"
)

// folder is a folder of the system.
type folder string

func (f folder) Read(name string, _ int64) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), name))
}

func (f folder) Write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(string(f), name), content, 0o600)
}

func (f folder) Open(name string) (flightnotes.File, error) {
	return os.OpenFile(filepath.Join(string(f), name), os.O_RDWR|os.O_CREATE, 0o600)
}

func (f folder) Remove(name string) error { return os.Remove(filepath.Join(string(f), name)) }

func keyOf(name string) *flightnotes.Key {
	key := new(flightnotes.Key)
	copy(key[:], name)
	return key
}

// A mark outlives the process, until it is taken back, or the request runs again.
func TestMarks(t *testing.T) {
	dir := folder(t.TempDir())
	notes := flightnotes.Read(dir, "the job", [16]byte{1})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"marked", "again", "unmarked", "runs", "over"} {
		ok(notes.Record(keyOf(name), 5, flightnotes.Begun))
	}
	for _, name := range []string{"marked", "again", "unmarked", "unknown"} {
		ok(notes.Mark(keyOf(name)))
	}
	ok(notes.Record(keyOf("again"), 5, flightnotes.Begun))
	ok(notes.Record(keyOf("over"), 5, flightnotes.Over))
	for _, name := range []string{"again", "unmarked"} {
		notes.Unmark(keyOf(name))
	}
	next := flightnotes.Read(dir, "the job", [16]byte{1}) // notes is left as a process that died leaves it
	suspects, passed, unread := next.List()
	want := []flightnotes.Suspect{{Key: *keyOf("again"), Priority: 5, Crashes: 1}, {Key: *keyOf("runs"), Priority: 5, Crashes: 1}}
	if !slices.Equal(suspects, want) || !slices.Equal(passed, []flightnotes.Key{*keyOf("marked")}) || unread != nil {
		t.Errorf("suspects %v, passed %q, %v", suspects, passed, unread)
	}
	next.ClearAll()
	if suspects, passed, _ := next.List(); len(suspects)+len(passed) > 0 {
		t.Errorf("suspects %v, passed %q after all were cleared", suspects, passed)
	}
	ok(next.Close())
	ok(notes.Close())
}

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	job := [16]byte{1}
	notes := flightnotes.Read(folder(dir), "the job", job)
	if err := notes.Record(keyOf("page"), 0, flightnotes.Begun); err != nil {
		fmt.Println(err)
	}
	// The process dies.
	suspects, _, _ := flightnotes.Read(folder(dir), "the job", job).List()
	fmt.Println(len(suspects), "suspect, crashes:", suspects[0].Crashes)
	// Output: 1 suspect, crashes: 1
}
