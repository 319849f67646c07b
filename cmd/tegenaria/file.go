package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/internal/project"
)

// fileOf returns the Go file that a crawl is to run: the argument after the command. at is its place in args; 0 if there is none.
func fileOf(args []string) (at int) {
	for i, arg := range args[:len(args)-1] {
		if next := args[i+1]; i > 0 && (arg == "crawl" || arg == "run") {
			if strings.HasSuffix(next, ".go") && !strings.HasPrefix(next, "-") {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// becomeFile builds the program in the Go file that args has at this place, and crawls with its spider in the place of this program. If
// the file has several spiders the next argument names one.
func becomeFile(args []string, at int, stderr io.Writer) (code int, err error) {
	if err := callsCommand(args[at]); err != nil {
		return codeUsage, err
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return codeUsage, fmt.Errorf("%s cannot be built, because there is no Go on this machine: https://go.dev/dl/ has it", args[at])
	}
	what, err := sourceOf(goCommand, args[at])
	if err != nil {
		return codeUsage, err
	}
	program, unlock, err := build(goCommand, what, stderr)
	if err != nil {
		return codeUsage, err
	}
	list := exec.Command(program, "list")
	list.Stderr = stderr
	said, err := list.Output()
	if err != nil {
		unlock()
		return codeUsage, fmt.Errorf("asking %s for its spiders: %v", args[at], err)
	}
	rest, spiders := args[at+1:], strings.Fields(string(said))
	switch {
	case len(rest) > 0 && slices.Contains(spiders, rest[0]):
	case len(spiders) == 1:
		rest = append([]string{spiders[0]}, rest...)
	default:
		unlock()
		return codeUsage, fmt.Errorf("%s has the spiders %s: name one of them after the file", args[at], strings.Join(spiders, ", "))
	}
	code, err = run(program, slices.Concat(args[:at], rest), unlock)
	if err != nil {
		return codeUsage, fmt.Errorf("running the program of %s: %w", args[at], err)
	}
	return code, nil
}

// callsCommand fails if a Go file is no program with the commands of package cli: nothing else can be asked for its spiders.
func callsCommand(file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, imported := range parsed.Imports {
		if path, err := strconv.Unquote(imported.Path.Value); err == nil && path == project.ModulePath+"/cli" && parsed.Name.Name == "main" {
			return nil
		}
	}
	return fmt.Errorf("%s is no program with spiders: give it package main, and func main() { cli.Main(…) } of %s/cli; "+
		"other programs are run by go run %[1]s",
		file, project.ModulePath)
}

// sourceOf says how a Go file is built: in the module around it, if that names the framework, and otherwise in a module of its own in the
// user's cache, with the framework that this program is built with.
func sourceOf(goCommand, file string) (source, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return source{}, err
	}
	what := source{name: file, key: path, dir: filepath.Dir(path), target: path}
	ask := exec.Command(goCommand, "env", "GOMOD")
	ask.Dir = what.dir
	around, err := ask.Output()
	if err != nil {
		return source{}, fmt.Errorf("asking for the module around %s: %v", file, err)
	}
	if text, err := os.ReadFile(strings.TrimSpace(string(around))); err == nil && strings.Contains(string(text), project.ModulePath) {
		return what, nil
	}
	from, err := project.Built()
	if errors.Is(err, project.ErrNoSources) {
		return source{}, fmt.Errorf("%w: run %s in a module that requires %s", err, file, project.ModulePath)
	} else if err != nil {
		return source{}, err
	}
	what.key = path + "\n" + from.Version + "\n" + from.Dir
	program, err := programOf(what.key)
	if err != nil {
		return source{}, err
	}
	what.dir, what.framework = filepath.Dir(program), &from
	what.flags = []string{"-mod=mod"} // adds what else the file imports
	return what, nil
}
