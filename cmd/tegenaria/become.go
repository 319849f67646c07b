package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/tegenaria/tegenaria/internal/project"
)

// codeUsage is the exit code of package cli for wrong usage: nothing was done.
const codeUsage = 2

// become builds the program of the project that the working directory lies in, and runs it with these arguments in the place of this
// program. For a crawl with a Go file, crawl FILE.go, that is the program in the file. Outside projects, and for
// commands that are not about a project, it does nothing, and done is false. For help and the completion of a shell
// nothing is built, since nobody has asked for a command of the project yet: they are those of the program if it was
// built before.
func become(args []string, stderr io.Writer) (code int, done bool) {
	command, config, helps := commandOf(args[1:])
	if command == "new" || command == "version" || command == "completion" {
		return 0, false
	}
	fail := func(err error) (int, bool) {
		fmt.Fprintf(stderr, "tegenaria: %v\n", err)
		return codeUsage, true
	}
	if at := fileOf(args); at > 0 && !helps {
		code, err := becomeFile(args, at, stderr)
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) { // the compiler has said what is wrong
			return fail(err)
		}
		return code, true
	}
	settings, err := settingsFile(config)
	if err != nil {
		return fail(err)
	}
	dir := filepath.Dir(settings)
	if settings == "" || !project.HasProgram(dir) {
		return 0, false
	}
	if config == "" {
		if err := project.CheckOwner(settings); err != nil {
			return fail(err)
		}
	}
	if completes := strings.HasPrefix(command, "__complete"); completes || helps {
		program, err := programOf(dir)
		if err == nil {
			if _, err = os.Stat(program); err == nil {
				code, err = run(program, args, func() {})
			}
		}
		if err != nil && helps {
			fmt.Fprintf(stderr, "tegenaria: this is the help of the command without the project in %s, whose program is built "+
				"by the first command that needs it, such as tegenaria list\n", dir)
		}
		return code, err == nil
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		err = fmt.Errorf("the project in %s cannot be built, because there is no Go on this machine: https://go.dev/dl/ has it", dir)
		if command != "jobs" && command != "cache" && command != "changes" && !hasURL(args) {
			return fail(fmt.Errorf("%w; crawl URL, fetch URL, view URL, cache, changes and jobs work without it", err))
		}
		fmt.Fprintf(stderr, "tegenaria: %v; going on without the project\n", err)
		return 0, false
	}
	program, unlock, err := build(goCommand, source{name: "the program of the project", key: dir, dir: dir, target: "."}, stderr)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) { // the compiler has said what is wrong
		return codeUsage, true
	} else if err != nil {
		return fail(err)
	}
	code, err = run(program, args, unlock)
	if err != nil {
		return fail(fmt.Errorf("running the program of the project: %w", err))
	}
	return code, true
}

// isUntidy reports whether the compiler has found that go.mod or go.sum lack what a program imports. The commands that
// it then proposes, go get PACKAGE or go mod download, add only the first of several modules, or none.
func isUntidy(said string) bool {
	for _, sign := range []string{"missing go.sum entry", "no required module provides package", "updates to go.mod needed", "cannot find module providing package"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// commandOf returns the command in the arguments, and the value of --config; "" if there is none. helps: they ask for help.
func commandOf(args []string) (command, config string, helps bool) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		value, named := strings.CutPrefix(arg, "--config=")
		switch {
		case arg == "--":
			return command, config, helps || command == ""
		case arg == "-h" || arg == "--help":
			helps = true
		case named:
			config = value
		case arg == "--config" && i+1 < len(args):
			i++
			config = args[i]
		case command == "" && !strings.HasPrefix(arg, "-"):
			command = arg
		}
	}
	return command, config, helps || command == "" || command == "help"
}

func hasURL(args []string) bool {
	for _, arg := range args {
		if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
			return true
		}
	}
	return false
}

// settingsFile returns the absolute path of the settings file, "" if there is none.
func settingsFile(config string) (string, error) {
	if config != "" {
		return filepath.Abs(config)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return project.Find(dir)
}

// source is a program that is built.
type source struct {
	name   string   // for messages
	key    string   // tells it from others
	dir    string   // where the go command runs
	target string   // what it builds: a package or a file
	flags  []string // more flags for go build

	framework *project.Framework // the folder becomes a module with it; nil: there is one already
}

// programOf returns where a program is built, by the key of its source: in the cache of the user, so that Go sees when
// there is nothing to do.
func programOf(key string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for the program: %w", err)
	}
	program := filepath.Join(cache, "tegenaria", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:16], "tegenaria")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	return program, nil
}

// build builds a program. Until unlock is called, or this process becomes another one, nobody else builds it. It is linked without the
// tables for debuggers, which takes a third less time after an edit.
func build(goCommand string, what source, stderr io.Writer) (program string, unlock func(), err error) {
	if program, err = programOf(what.key); err != nil {
		return "", nil, err
	}
	home := filepath.Dir(program)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", nil, err
	}
	if unlock, err = lockedfile.MutexAt(filepath.Join(home, "lock")).Lock(); err != nil {
		return "", nil, err
	}
	if what.framework != nil {
		if err := project.CreateModule(what.dir, *what.framework); err != nil {
			unlock()
			return "", nil, err
		}
	}
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stderr, "tegenaria: building %s for the first time, which may take a minute\n", what.name)
	}
	cmd := exec.Command(goCommand, slices.Concat([]string{"build", "-ldflags=-w", "-o", program}, what.flags, []string{what.target})...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = what.dir, stderr, io.MultiWriter(stderr, &said)
	if err := cmd.Run(); err != nil {
		unlock()
		if isUntidy(said.String()) {
			fmt.Fprintf(stderr, "tegenaria: the program imports a package whose modules go.mod or go.sum do not name yet: go "+
				"mod tidy in %s adds them; "+
				"it changes both files, and needs a network for modules that are not on this machine\n", what.dir)
		}
		return "", nil, err
	}
	return program, unlock, nil
}
