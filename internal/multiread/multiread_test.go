package multiread_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/multiread"
)

// pattern returns n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// isEmpty fails the test if something is left in the folder.
func isEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestNew(t *testing.T) {
	for _, content := range [][]byte{nil, {}, []byte("x"), pattern(100_000)} {
		b := multiread.New(content)
		if got, ok := b.Bytes(); !ok || !bytes.Equal(got, content) || b.Len() != int64(len(content)) {
			t.Errorf("%d bytes: Bytes has %d, %t; Len %d", len(content), len(got), ok, b.Len())
		}
		for range 2 {
			if got, err := io.ReadAll(b.Reader()); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes: a reader has %d, %v", len(content), len(got), err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(b.Reader()); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes, after Close: a reader has %d, %v", len(content), len(got), err)
		}
	}
	var zero multiread.Body
	if got, err := io.ReadAll(zero.Reader()); err != nil || len(got) != 0 || zero.Len() != 0 || zero.Close() != nil {
		t.Errorf("zero value: %d bytes, %v", len(got), err)
	}
}

func TestSpool(t *testing.T) {
	tests := []struct {
		name          string
		size          int
		memory, limit int64
		spooled, over bool
	}{
		{"empty", 0, 10, 100, false, false},
		{"empty, no memory", 0, 0, 100, false, false},
		{"small", 5, 10, 100, false, false},
		{"exactly the memory", 10, 10, 100, false, false},
		{"one above the memory", 11, 10, 100, true, false},
		{"no memory", 1, 0, 100, true, false},
		{"negative memory", 1, -1, 100, true, false},
		{"exactly the limit", 100, 10, 100, true, false},
		{"one above the limit", 101, 10, 100, true, true},
		{"far above the limit", 500_000, 10, 100, true, true},
		{"limit is the memory", 10, 10, 10, false, false},
		{"above both", 11, 10, 10, false, true},
		{"limit below the memory", 7, 10, 7, false, false},
		{"above the limit, below the memory", 8, 10, 7, false, true},
		{"no limit", 200_000, 10, 0, true, false},
		{"negative limit", 200_000, 10, -1, true, false},
		{"all in memory", 200_000, math.MaxInt64, 0, false, false},
		{"largest limit", 200_000, 10, math.MaxInt64, true, false},
		{"largest both", 200_000, math.MaxInt64, math.MaxInt64, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			content := pattern(tt.size)
			source := &counter{r: bytes.NewReader(content)}
			// One byte at a time, and at once: where a read ends must not matter.
			for _, r := range []io.Reader{source, iotest.OneByteReader(bytes.NewReader(content)), iotest.DataErrReader(bytes.NewReader(content))} {
				b, err := multiread.NewSpool(r, tt.memory, tt.limit, dir)
				if tt.over {
					var over *multiread.LimitError
					if !errors.As(err, &over) || over.Limit != tt.limit || b != nil {
						t.Fatalf("error %v, want a LimitError of %d", err, tt.limit)
					}
					if source.n > tt.limit+1 {
						t.Errorf("read %d bytes for a limit of %d", source.n, tt.limit)
					}
					isEmpty(t, dir)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, ok := b.Bytes()
				if ok == tt.spooled || ok && !bytes.Equal(got, content) || !ok && got != nil || b.Len() != int64(tt.size) {
					t.Errorf("Bytes has %d, %t; Len %d", len(got), ok, b.Len())
				}
				if runtime.GOOS != "windows" {
					isEmpty(t, dir) // the file has no name even while it is in use
				}
				for range 2 {
					r := b.Reader()
					if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
						t.Errorf("a reader has %d bytes, %v", len(got), err)
					}
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				}
				before := b.Reader()
				for range 2 {
					if err := b.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				}
				isEmpty(t, dir)
				if tt.spooled {
					for _, r := range []io.Reader{before, b.Reader()} {
						if _, err := io.ReadAll(r); !errors.Is(err, os.ErrClosed) {
							t.Errorf("a reader after Close: %v, want os.ErrClosed", err)
						}
					}
				}
			}
		})
	}
}

// counter counts the bytes that were read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestSpoolOfNothing(t *testing.T) {
	b, err := multiread.NewSpool(nil, 10, 100, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b.Reader()); err != nil || len(got) != 0 || b.Len() != 0 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A source that breaks is an error wherever it breaks, and leaves nothing.
func TestSpoolSourceFails(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{broken, io.ErrUnexpectedEOF} {
		for _, after := range []int{0, 5, 10, 11, 50, 40_000} {
			t.Run(fmt.Sprintf("%v after %d", want, after), func(t *testing.T) {
				dir := t.TempDir()
				r := io.MultiReader(bytes.NewReader(pattern(after)), iotest.ErrReader(want))
				b, err := multiread.NewSpool(r, 10, 0, dir)
				if !errors.Is(err, want) || b != nil {
					t.Errorf("error %v, want %v", err, want)
				}
				isEmpty(t, dir)
			})
		}
	}
}

func TestSpoolFolderIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	if _, err := multiread.NewSpool(bytes.NewReader(pattern(11)), 10, 0, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want os.ErrNotExist", err)
	}
	if _, err := multiread.NewSpool(bytes.NewReader(pattern(10)), 10, 0, dir); err != nil {
		t.Errorf("what fits into memory needs no folder: %v", err)
	}
}

// Readers at different places do not disturb each other, also from many goroutines.
func TestReadersAreIndependent(t *testing.T) {
	content := pattern(100_000)
	for _, memory := range []int64{0, 1 << 20} {
		t.Run(fmt.Sprintf("memory %d", memory), func(t *testing.T) {
			b, err := multiread.NewSpool(bytes.NewReader(content), memory, 0, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			first, second := b.Reader(), b.Reader()
			head := make([]byte, 70_000)
			if _, err := io.ReadFull(first, head); err != nil || !bytes.Equal(head, content[:70_000]) {
				t.Fatalf("first part: %v", err)
			}
			first.Close()
			if err := iotest.TestReader(second, content); err != nil {
				t.Error(err)
			}
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					var r io.Reader = b.Reader()
					if i%2 == 0 {
						r = iotest.HalfReader(r)
					}
					if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
						t.Errorf("reader %d has %d bytes, %v", i, len(got), err)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCloseWhileReading(t *testing.T) {
	b, err := multiread.NewSpool(bytes.NewReader(pattern(1<<20)), 0, 0, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := io.Copy(io.Discard, b.Reader()); err != nil {
					if !errors.Is(err, os.ErrClosed) {
						t.Errorf("reader: %v", err)
					}
					return
				}
			}
		})
	}
	b.Close()
	wg.Wait()
}

func BenchmarkSpool(b *testing.B) {
	content := pattern(1 << 20)
	for _, memory := range []int64{0, 1 << 20} {
		b.Run(fmt.Sprintf("memory %d", memory), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				body, err := multiread.NewSpool(bytes.NewReader(content), memory, 1<<30, b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				body.Close()
			}
		})
	}
}

func ExampleBody() {
	body, err := multiread.NewSpool(strings.NewReader("the same text"), 4, 1<<20, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	for range 2 {
		text, err := io.ReadAll(body.Reader())
		fmt.Println(string(text), err)
	}
	_, inMemory := body.Bytes()
	fmt.Println(body.Len(), inMemory)
	// Output:
	// the same text <nil>
	// the same text <nil>
	// 13 false
}
