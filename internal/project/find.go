package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SettingsName is the name of the file that makes a folder a project.
const SettingsName = "tegenaria.yaml"

// ForeignError is a settings file, or its folder, that belongs to another user.
type ForeignError struct {
	Path     string // what belongs to them
	Settings string // the settings file
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s belongs to another user, and %s is not read: give --config %[2]s if you trust it", e.Path, e.Settings)
}

// Find looks for a settings file in a folder and those above it; "" if there is none. One that belongs to another user is a
// [*ForeignError]: whoever can write it decides how this user crawls, robots.txt and private addresses included.
func Find(dir string) (string, error) {
	for {
		path := filepath.Join(dir, SettingsName)
		switch info, err := os.Stat(path); {
		case err == nil && isForeign(info):
			return "", &ForeignError{Path: path, Settings: path}
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("settings file: %w", err)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}

// CheckOwner returns a [*ForeignError] if the program of a project may be another user's: building it runs their code. A link to a file
// of this user's proves nothing, so it is the link that is asked for.
func CheckOwner(settings string) error {
	for _, path := range []string{settings, filepath.Dir(settings)} {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if isForeign(info) {
			return &ForeignError{Path: path, Settings: settings}
		}
	}
	return nil
}

// HasProgram reports whether there are Go files in a folder, tests left out.
func HasProgram(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			return true
		}
	}
	return false
}
