package feed_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// A crash may leave a file that has begun, cut anywhere, of which the job does not know: it begins the file again. One
// that has anything else stays as it is.
func TestBlankFiles(t *testing.T) {
	for _, format := range formatEndings {
		for _, pack := range packEndings {
			t.Run(format+pack, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(plainDir(t), "out"+format+pack)
				begin := func() error {
					f := makeFeed(path)
					if err := f.Restore(t.Context(), nil); err != nil {
						return err
					}
					_, err := f.Prepare(t.Context(), nil)
					return err
				}
				if err := begin(); err != nil {
					t.Fatal(err)
				}
				blank, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				step := deep.Rounds(1+len(blank)/8, 1)
				for n := 0; n <= len(blank); n += step {
					write(t, path, string(blank[:n]))
					if err := begin(); err != nil {
						t.Errorf("%d of %d bytes: %v", n, len(blank), err)
					}
					if again, err := os.ReadFile(path); err != nil || string(again) != string(blank) {
						t.Errorf("%d of %d bytes: %q, %v", n, len(blank), again, err)
					}
				}
				other := append(blank, '7')
				write(t, path, string(other))
				if notEmpty := (*feed.NotEmptyError)(nil); !errors.As(begin(), &notEmpty) {
					t.Error("a file with something else was taken")
				}
				wantFile(t, path, string(other))
			})
		}
	}
}
