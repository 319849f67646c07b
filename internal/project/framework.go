package project

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// ModulePath is the path of the framework's module.
const ModulePath = "github.com/tegenaria/tegenaria"

//go:embed release.mod
var releaseMod string

//go:embed release.sum
var releaseSum string

//go:embed needed.txt
var neededModules string

// Framework says where the framework of a project comes from: a version with its checksum, or a folder with its sources.
type Framework struct {
	Version, Sum string
	Dir          string
}

// ErrNoSources is that of [Built] if the program has no version, and does not know where its sources lie.
var ErrNoSources = errors.New("this program was built from sources without a version, and does not know where they lie")

// Built returns the framework that this program is built with.
func Built() (Framework, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	_, file, _, _ := runtime.Caller(0)
	return built(info, file)
}

// built does what Built does, for a program and the name of this file as the compiler has noted it.
func built(info *debug.BuildInfo, file string) (Framework, error) {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == ModulePath && m.Sum != "" && m.Replace == nil {
			return Framework{Version: m.Version, Sum: m.Sum}, nil
		}
	}
	if filepath.IsAbs(file) { // it is not with -trimpath
		return Sources(filepath.Dir(filepath.Dir(filepath.Dir(file))))
	}
	return Framework{}, ErrNoSources
}

// Sources returns the framework in a folder, a clone of its repository.
func Sources(dir string) (Framework, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Framework{}, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return Framework{}, fmt.Errorf("the sources of the framework: %w", err)
	}
	if !strings.HasPrefix(string(text), "module "+ModulePath+"\n") {
		return Framework{}, fmt.Errorf("the sources of the framework: %s is another module", dir)
	}
	return Framework{Dir: dir}, nil
}

// noVersion stands where a replace directive decides.
const noVersion = "v0.0.0-00010101000000-000000000000"

// goMod returns the go.mod of a project.
func (f Framework) goMod(name string) string {
	needed := needed()
	var required, indirect string
	for line := range strings.Lines(releaseMod) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "go ") {
			required = "module " + name + "\n\n" + line + "\nrequire " + ModulePath + " "
		} else if strings.HasPrefix(line, "\t") && needed[fields[0]] {
			indirect += "\t" + fields[0] + " " + fields[1] + " // indirect\n"
		}
	}
	if f.Dir == "" {
		return required + f.Version + "\n\nrequire (\n" + indirect + ")\n"
	}
	path := f.Dir
	if strings.ContainsAny(path, " \t\"'`,()[]{}") || strings.Contains(path, "//") || strings.Contains(path, "/*") {
		path = strconv.Quote(path)
	}
	return required + noVersion + "\n\nrequire (\n" + indirect + ")\n\n// The clone that the command was built from. Where there is none, remove this line and type go get " + ModulePath + "@latest.\nreplace " + ModulePath + " => " + path + "\n"
}

// goSum returns the go.sum of a project: all of the framework's, since go doc and go list read more modules than a project compiles.
func (f Framework) goSum() string {
	if f.Dir != "" {
		return releaseSum
	}
	return fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", ModulePath, f.Version, f.Sum, sumOfMod(releaseMod)) + releaseSum
}

// sumOfMod returns the checksum of a go.mod as a go.sum has it: that of a list of files with this one.
func sumOfMod(text string) string {
	file := sha256.Sum256([]byte(text))
	list := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", file))
	return "h1:" + base64.StdEncoding.EncodeToString(list[:])
}

// needed returns the paths of the modules that a project compiles.
func needed() map[string]bool {
	paths := make(map[string]bool)
	for _, path := range strings.Fields(neededModules) {
		paths[path] = true
	}
	return paths
}
