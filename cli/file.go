package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/tegenaria/tegenaria/internal/project"
)

// mostOfFile bounds a settings file and a file whose content is a value, in bytes.
const mostOfFile = 64 << 10

// entry is a value of a settings file, or one given by a flag.
type entry struct {
	path   []string // the parts of the name
	text   string
	origin string // "tegenaria.yaml:12", "the flag -s"
	where  string // the same with a column, for mistakes
	secret bool   // the value came from a file of its own
}

// settingsFile is a file that was read.
type settingsFile struct {
	path     string // "" if there is none
	entries  []entry
	mistakes error // what else is wrong in it
}

// readSettings reads the settings file of the flag --config or, without it, that of the working directory or the nearest one above. No
// file is no mistake. All mistakes of its form are reported together.
func readSettings(config string) (*settingsFile, error) {
	path := config
	if path == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if path, err = project.Find(dir); err != nil {
			return nil, &usageError{err}
		} else if path == "" {
			return &settingsFile{}, nil
		}
	}
	text, err := readBounded(path)
	if err != nil {
		return nil, &usageError{fmt.Errorf("settings file: %w", err)}
	}
	name := path
	if config == "" {
		name = project.SettingsName
	}
	f := &settingsFile{path: path}
	f.entries, f.mistakes = parseSettings(name, text)
	for i := range f.entries {
		nameProxies(&f.entries[i])
	}
	f.entries, err = fromFiles(f.entries, filepath.Dir(path), config == "")
	f.mistakes = errors.Join(f.mistakes, err, settingsPaths(f.entries, filepath.Dir(path), config == ""))
	return f, nil
}

// readBounded reads a file, without the byte order mark that some editors begin it with.
func readBounded(path string) ([]byte, error) { return readIn(osFiles{}, path) }

// files are where files are read: a folder, an *os.Root, or all of the system.
type files interface {
	Open(name string) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
}

// osFiles are those of the system.
type osFiles struct{}

func (osFiles) Open(name string) (*os.File, error) { return os.Open(name) }

func (osFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// inherited are the names of what a process was given open, such as the <(command) of a shell.
var inherited = []string{"/dev/fd/", "/dev/stdin", "/proc/self/fd/"}

func readIn(from files, path string) ([]byte, error) {
	info, err := from.Stat(path)
	if err != nil {
		return nil, err
	}
	isOpen := slices.ContainsFunc(inherited, func(name string) bool { return strings.HasPrefix(path, name) })
	if info.Mode()&fs.ModeNamedPipe != 0 && !isOpen { // to open it waits for whoever writes to it
		return nil, fmt.Errorf("%s is a named pipe; name a file", path)
	}
	file, err := from.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostOfFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostOfFile {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, mostOfFile>>10)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// readBelow reads a file that lies below a folder, also where links lead from there.
func readBelow(dir, name string) ([]byte, error) {
	if filepath.IsAbs(name) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if name, err = filepath.Rel(abs, name); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readIn(root, name)
}

// fromFiles puts the contents of files in the place of values that name one, @FILE. Names are relative to dir. below: these values were
// not written by whoever runs the command, and have no other files than those below dir.
func fromFiles(entries []entry, dir string, below bool) ([]entry, error) {
	var errs []error
	for i := range entries {
		e := &entries[i]
		name, ok := strings.CutPrefix(e.text, "@")
		switch {
		case !ok:
			continue
		case strings.HasPrefix(name, "@"):
			e.text = name
			continue
		}
		var text []byte
		var err error
		switch {
		case below:
			if text, err = readBelow(dir, name); err != nil {
				err = fmt.Errorf("%w; a settings file that was found names files below its own folder alone: --config %s trusts "+
					"it with others", err, project.SettingsName)
			}
		case filepath.IsAbs(name):
			text, err = readBounded(name)
		default:
			text, err = readBounded(filepath.Join(dir, name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: the value of %s: %w", e.where, strings.Join(e.path, "."), err))
			continue
		}
		e.text, e.secret = strings.TrimRight(string(text), "\r\n"), true
	}
	return entries, errors.Join(errs...)
}

// The parser takes quadratic time for what lies in each other, for one line that opens much, and for empty lines in a row. No settings
// file needs this.
const (
	mostNested  = 50  // brackets that are open
	mostOpening = 200 // marks of lists, keys and values in a line
	mostEmpty   = 500 // empty lines in a row
)

const (
	nested     = "too much lies in each other here"
	emptyLines = "more than 500 empty lines in a row end here; leave them out"
)

// tooSlow returns the number of a line that the parser would take too long for, and why; 0 if there is none.
func tooSlow(text string) (number int, why string) {
	open, ends := 0, 0
	for line := range strings.Lines(text) {
		number++
		for _, c := range []byte(line) {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			switch c {
			case '\r', '\n': // a line may end with both
				ends++
			case ' ', '\t':
			default:
				ends = 0
			}
			switch {
			case open > mostNested:
				return number, nested
			case ends > 2*mostEmpty:
				return number, emptyLines
			}
		}
		if strings.Count(line, "- ")+strings.Count(line, "? ")+strings.Count(line, ": ")+strings.Count(line, "-\t")+strings.Count(line, "!")+strings.Count(line, "&") > mostOpening {
			return number, nested
		}
	}
	return 0, ""
}

// parseSettings reads the text of a settings file called name: the scalars and lists in it, with the names of the mappings around them.
func parseSettings(name string, text []byte) ([]entry, error) {
	if line, why := tooSlow(string(text)); line > 0 {
		return nil, fmt.Errorf("%s:%d: %s", name, line, why)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	r := &reader{name: name}
	docs := 0
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if docs++; docs > 1 {
			r.wrong(doc.Body, "it has a second document; write all settings into one")
			break
		}
		r.read(doc.Body, nil)
	}
	return r.entries, errors.Join(r.errs...)
}

// syntaxError puts an error of the parser into the form of ours.
func syntaxError(name string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Position != nil {
		at, text := e.GetToken().Position, e.GetMessage()
		if strings.Contains(text, "reserved character") {
			text += "; put the value in quotes"
		}
		return fmt.Errorf("%s:%d:%d: %s", name, at.Line, at.Column, text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// reader collects entries and mistakes.
type reader struct {
	name    string
	entries []entry
	errs    []error
}

func (r *reader) at(n ast.Node) (line, column int) {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, t.Position.Column
	}
	return 1, 1
}

func (r *reader) wrong(n ast.Node, format string, args ...any) {
	line, column := r.at(n)
	r.errs = append(r.errs, fmt.Errorf("%s:%d:%d: %s", r.name, line, column, fmt.Sprintf(format, args...)))
}

// deepest is how many mappings may lie in each other: spiders, a spider, politeness, overrides, a host.
const deepest = 6

func (r *reader) read(n ast.Node, path []string) {
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			r.pair(pair, path)
		}
	case *ast.MappingValueNode:
		r.pair(n, path)
	case *ast.NullNode:
		if len(path) == 1 { // an empty section
			return
		}
		if len(path) > 0 {
			r.wrong(n, "%s has no value; leave it out for the default", strings.Join(path, "."))
		}
	case *ast.SequenceNode:
		r.list(n, path)
	default:
		if text, ok := scalar(n); ok && len(path) > 0 {
			r.add(n, path, text)
			return
		}
		if len(path) == 0 {
			r.wrong(n, "a settings file has lines such as \"politeness: {delay: 1s}\"")
			return
		}
		r.wrong(n, "%s: a value is a text, a number, a duration or a list of these; anchors and aliases are not supported", strings.Join(path, "."))
	}
}

func (r *reader) pair(pair *ast.MappingValueNode, path []string) {
	key, ok := scalar(pair.Key)
	if !ok {
		r.wrong(pair.Key, "a name of a setting is a text")
		return
	}
	path = append(path[:len(path):len(path)], key)
	if len(path) > deepest {
		r.wrong(pair.Key, "there is no setting %s", strings.Join(path, "."))
		return
	}
	before := len(r.entries)
	r.read(pair.Value, path)
	if len(r.entries) > before { // the place of a setting is that of its name
		if _, leaf := scalar(pair.Value); leaf || isList(pair.Value) {
			line, column := r.at(pair.Key)
			e := &r.entries[before]
			e.origin, e.where = fmt.Sprintf("%s:%d", r.name, line), fmt.Sprintf("%s:%d:%d", r.name, line, column)
		}
	}
}

func isList(n ast.Node) bool { _, ok := n.(*ast.SequenceNode); return ok }

func (r *reader) list(n *ast.SequenceNode, path []string) {
	var parts []string
	for _, value := range n.Values {
		text, ok := scalar(value)
		switch {
		case !ok:
			r.wrong(value, "an element of %s is a text or a number", strings.Join(path, "."))
			return
		case strings.Contains(text, ","):
			r.wrong(value, "an element of %s has a comma", strings.Join(path, "."))
			return
		}
		parts = append(parts, text)
	}
	if len(path) == 0 {
		r.wrong(n, "a settings file has lines such as \"politeness: {delay: 1s}\"")
		return
	}
	r.add(n, path, strings.Join(parts, ","))
}

func (r *reader) add(n ast.Node, path []string, text string) {
	line, column := r.at(n)
	r.entries = append(r.entries, entry{
		path: path, text: text,
		origin: fmt.Sprintf("%s:%d", r.name, line), where: fmt.Sprintf("%s:%d:%d", r.name, line, column),
	})
}

// scalar returns the text of a scalar as it was written, without quotation marks.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
