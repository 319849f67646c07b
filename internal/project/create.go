package project

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed list api sitemap single
var templates embed.FS

// Template is a kind of project.
type Template struct{ Name, Help, Spider string }

// Templates are the kinds of projects. The first one is the default.
var Templates = []Template{
	{"list", "pages of a list, each with a link to the next one", "quotes"},
	{"api", "answers in JSON, page by page", "quotes"},
	{"sitemap", "the pages that a sitemap lists", "products"},
}

// ErrNotEmpty is that of [Create] for a folder with files.
var ErrNotEmpty = errors.New("the folder has files in it")

// Create makes a project of a template in a folder, which must be empty or not there yet.
func Create(dir string, template Template, from Framework) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	name := moduleName(filepath.Base(dir))
	files := map[string]string{"go.mod": from.goMod(name), "go.sum": from.goSum(), ".gitignore": ".tegenaria/\n"}
	err = fs.WalkDir(templates, template.Name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		files[strings.TrimPrefix(path, template.Name+"/")] = string(text)
		return err
	})
	if err != nil {
		return err
	}
	files["main.go"] = strings.Replace(files["main.go"], "Command "+template.Name, "Command "+name, 1)
	for path, text := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// CreateModule makes a folder, which must be there, the root of a module in which programs with the framework can be built. A module that
// is there already is left as it is.
func CreateModule(dir string, from Framework) error {
	for name, text := range map[string]string{"go.sum": from.goSum(), "go.mod": from.goMod("spider")} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleName returns the name of a folder as the path of a module.
func moduleName(folder string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", r) {
			return r
		}
		return '-'
	}, folder)
	if name = strings.Trim(name, "-"); name == "" {
		return "crawler"
	}
	return name
}
