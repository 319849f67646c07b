package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The test suite of RFC 1321, appendix A.5.
var vectors = map[string]string{
	"empty":              "",
	"letters/one":        "a",
	"letters/three":      "abc",
	"message":            "message digest",
	"letters/all/small":  "abcdefghijklmnopqrstuvwxyz",
	"letters/all/every":  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"digits/repeated/it": strings.Repeat("1234567890", 8),
}

var vectorSums = map[string]string{
	"empty":              "d41d8cd98f00b204e9800998ecf8427e",
	"letters/one":        "0cc175b9c0f1b6a831c399e269772661",
	"letters/three":      "900150983cd24fb0d6963f7d28e17f72",
	"message":            "f96b697d7cb7938d525a2f31aaf161d0",
	"letters/all/small":  "c3fcd3d76192e4007dfb496cca67e13b",
	"letters/all/every":  "d174ab98d277d9f5a5611c2c9f419d9f",
	"digits/repeated/it": "57edf4a22be3c955ac49da2e2107b67a",
}

func each(t *testing.T, f func(t *testing.T, mode Mode)) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) { f(t, mode) })
	}
}

// collect digests a tree and returns the sums in hex by path.
func collect(ctx context.Context, tree fs.FS, mode Mode) (map[string]string, error) {
	sums := make(map[string]string)
	err := Digest(ctx, tree, mode, func(s Sum) error {
		if _, ok := sums[s.Path]; ok {
			return fmt.Errorf("%s came twice", s.Path)
		}
		sums[s.Path] = hex.EncodeToString(s.MD5[:])
		return nil
	})
	return sums, err
}

func TestDigest(t *testing.T) {
	tree := fstest.MapFS{}
	for path, text := range vectors {
		tree[path] = &fstest.MapFile{Data: []byte(text)}
	}
	tree["a link"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("message")}
	each(t, func(t *testing.T, mode Mode) {
		got, err := collect(t.Context(), tree, mode)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(vectorSums) {
			t.Errorf("got  %v\nwant %v", got, vectorSums)
		}
	})
}

func TestBigFileIsReadInPieces(t *testing.T) {
	data := []byte(strings.Repeat("0123456789abcdef", 1<<18)) // 4 MiB
	tree := &hooked{MapFS: fstest.MapFS{"big": {Data: data}}}
	greatest := 0
	tree.read = func(b []byte) { greatest = max(greatest, len(b)) }
	got, err := collect(t.Context(), tree, Serial)
	if want := fmt.Sprintf("%x", md5.Sum(data)); err != nil || got["big"] != want {
		t.Errorf("got %v, error %v, want %s", got, err, want)
	}
	if greatest == 0 || greatest > 64<<10 {
		t.Errorf("%d bytes of %d were asked for at once", greatest, len(data))
	}
}

// hooked is a tree that tells what is done to it.
type hooked struct {
	fstest.MapFS
	list  func(path string) error // before a directory is read
	open  func(path string) error // before a file is opened
	read  func(b []byte)          // before a piece is read
	close func()                  // when a file is closed
}

// newHooked has n files, ten in each of the directories d0 to d9.
func newHooked(n int) *hooked {
	h := &hooked{MapFS: fstest.MapFS{}}
	for i := range n {
		h.MapFS[fmt.Sprintf("d%d/f%03d", i/10%10, i)] = &fstest.MapFile{Data: []byte{byte(i)}}
	}
	return h
}

func (h *hooked) Open(path string) (fs.File, error) {
	isFile := h.MapFS[path] != nil
	if h.open != nil && isFile {
		if err := h.open(path); err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	file, err := h.MapFS.Open(path)
	if err != nil || !isFile {
		return file, err
	}
	return &hookedFile{file, h}, nil
}

func (h *hooked) ReadDir(path string) ([]fs.DirEntry, error) {
	if h.list != nil {
		if err := h.list(path); err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: path, Err: err}
		}
	}
	return h.MapFS.ReadDir(path)
}

type hookedFile struct {
	fs.File
	h *hooked
}

func (f *hookedFile) Read(b []byte) (int, error) {
	if f.h.read != nil {
		f.h.read(b)
	}
	return f.File.Read(b)
}

func (f *hookedFile) Close() error {
	if f.h.close != nil {
		f.h.close()
	}
	return f.File.Close()
}

// All files stay open until the test has counted them.
func TestModesHoldTheirBounds(t *testing.T) {
	for name, bound := range map[string]int{"serial": 1, "bounded": 20, "parallel": 100} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newHooked(100)
				release := make(chan struct{})
				var mu sync.Mutex
				open, peak := 0, 0
				tree.open = func(string) error {
					mu.Lock()
					open++
					peak = max(peak, open)
					mu.Unlock()
					<-release
					return nil
				}
				tree.close = func() {
					mu.Lock()
					defer mu.Unlock()
					open--
				}
				done := make(chan error)
				go func() {
					got, err := collect(t.Context(), tree, modes[name])
					if len(got) != 100 {
						t.Errorf("%d sums, want 100", len(got))
					}
					done <- err
				}()
				synctest.Wait()
				mu.Lock()
				if open != bound {
					t.Errorf("%d files are open, want %d", open, bound)
				}
				mu.Unlock()
				close(release)
				if err := <-done; err != nil {
					t.Error(err)
				}
				if peak != bound || open != 0 {
					t.Errorf("%d files were open at a time, want %d; %d still are", peak, bound, open)
				}
			})
		})
	}
}

// In a bubble of synctest a goroutine that is left behind fails the test.
func TestCancelAtEachStageLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, mode Mode) {
		places := map[string]func(tree *hooked, cancel func()) (each func(Sum) error){
			"before the start": func(_ *hooked, cancel func()) func(Sum) error {
				cancel()
				return func(Sum) error { return nil }
			},
			"in the walk": func(tree *hooked, cancel func()) func(Sum) error {
				tree.list = func(path string) error {
					if path == "d3" {
						cancel()
					}
					return nil
				}
				return func(Sum) error { return nil }
			},
			"in a file": func(tree *hooked, cancel func()) func(Sum) error {
				tree.open = func(path string) error {
					if path == "d2/f025" {
						cancel()
					}
					return nil
				}
				return func(Sum) error { return nil }
			},
			"in the sink": func(_ *hooked, cancel func()) func(Sum) error {
				n := 0
				return func(Sum) error {
					if n++; n == 30 {
						cancel()
					}
					return nil
				}
			},
		}
		for place, build := range places {
			t.Run(place, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					tree := newHooked(100)
					sums := 0
					each := build(tree, cancel)
					err := Digest(ctx, tree, mode, func(s Sum) error {
						sums++
						return each(s)
					})
					if !errors.Is(err, context.Canceled) {
						t.Errorf("error %v", err)
					}
					if sums >= 100 {
						t.Error("everything was digested, the test shows nothing")
					}
				})
			})
		}
	})
}

func TestEarlyErrorLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, mode Mode) {
		t.Run("of a file", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newHooked(100)
				tree.open = func(path string) error {
					if path == "d2/f025" {
						return fs.ErrPermission
					}
					return nil
				}
				_, err := collect(t.Context(), tree, mode)
				if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "d2/f025") {
					t.Errorf("error %v, want it to name the file", err)
				}
			})
		})
		t.Run("of the sink", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full := errors.New("disk full")
				err := Digest(t.Context(), newHooked(100), mode, func(Sum) error { return full })
				if !errors.Is(err, full) {
					t.Errorf("error %v", err)
				}
			})
		})
	})
}

func TestWalkErrorIsReportedAfterTheDrain(t *testing.T) {
	each(t, func(t *testing.T, mode Mode) {
		synctest.Test(t, func(t *testing.T) {
			tree := newHooked(10) // all in d0, behind the directory that can not be read
			tree.MapFS["a0/first"] = &fstest.MapFile{}
			tree.MapFS["a0/second"] = &fstest.MapFile{}
			tree.MapFS["bad/unseen"] = &fstest.MapFile{}
			failed := make(chan struct{})
			tree.list = func(path string) error {
				if path == "bad" {
					close(failed)
					return fs.ErrPermission
				}
				return nil
			}
			tree.open = func(path string) error {
				if path == "a0/second" {
					<-failed // it is still being read when the walk is over
				}
				return nil
			}
			got, err := collect(t.Context(), tree, mode)
			var where *fs.PathError
			if !errors.As(err, &where) || where.Path != "bad" || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("error %v, want it to name the directory", err)
			}
			if len(got) != 2 || got["a0/first"] == "" || got["a0/second"] == "" {
				t.Errorf("got %v, want what was found before the error", got)
			}
		})
	})
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"b": "abc", "a/c": "a"} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("0cc175b9c0f1b6a831c399e269772661  %s\n900150983cd24fb0d6963f7d28e17f72  %s\n",
		filepath.Join(dir, "a", "c"), filepath.Join(dir, "b"))
	t.Chdir(dir)
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string // a part
	}{
		{"default mode", []string{dir}, 0, want, ""},
		{"serial", []string{"-mode", "serial", dir}, 0, want, ""},
		{"parallel", []string{"-mode", "parallel", dir}, 0, want, ""},
		{"bounded", []string{"-mode", "bounded", dir}, 0, want, ""},
		{"default directory", nil, 0, strings.ReplaceAll(want, dir+string(filepath.Separator), ""), ""},
		{"unknown mode", []string{"-mode", "wild"}, 2, "", "usage"},
		{"unknown flag", []string{"-x"}, 2, "", "usage"},
		{"two directories", []string{"a", "b"}, 2, "", "usage"},
		{"no such directory", []string{filepath.Join(dir, "none")}, 1, "", "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(t.Context(), test.args, &stdout, &stderr)
			if code != test.code || stdout.String() != test.stdout || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("exit code %d, want %d\n%s%s", code, test.code, &stdout, &stderr)
			}
		})
	}
}
