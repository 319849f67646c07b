//go:build unix

package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/internal/project"
)

// TestForeign fails if a settings file of another user is found, or if a link to a file of one's own hides whose it is.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, project.SettingsName)
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	isRoot := os.Geteuid() == 0
	var err error
	if isRoot {
		err = errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, nobody, nobody))
	} else {
		err = os.Symlink("/etc/passwd", path) // root's
	}
	if err != nil {
		t.Fatal(err)
	}
	var foreign *project.ForeignError
	if found, err := project.Find(below); found != "" || !errors.As(err, &foreign) || foreign.Path != path {
		t.Errorf("found %q, %v", found, err)
	}
	if !isRoot {
		return
	}
	own := filepath.Join(dir, "own")
	if err := errors.Join(os.Remove(path), os.WriteFile(own, nil, 0o644), os.Symlink(own, path)); err != nil {
		t.Fatal(err)
	}
	if err := project.CheckOwner(path); err != nil {
		t.Errorf("the link is one's own: %v", err)
	}
	if err := os.Lchown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := project.CheckOwner(path); !errors.As(err, &foreign) || foreign.Path != path {
		t.Errorf("the link is another user's: %v", err)
	}
	if err := errors.Join(os.Lchown(path, 0, 0), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if err := project.CheckOwner(path); !errors.As(err, &foreign) || foreign.Path != dir {
		t.Errorf("the folder is another user's: %v", err)
	}
}
