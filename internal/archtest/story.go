package archtest

import (
	"go/ast"
	"go/doc/comment"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// steps is how many the life of a request has, in doc.go of the root and in docs/architecture.md.
const steps = 9

// Story checks that the documents describe the house as it is. The package comment of the root has nine steps; each names the
// funcs that do it, as "acceptor.accept in accept.go" or "Frontier.Take in internal/frontier", and each of these is there. The
// page of the architecture has the same steps, names no file or room of ours that does not exist, leaves no room out, and lists
// the files "to follow one page".
func Story(files []File, architecture string) []Problem {
	told, problems := storyOf(files)
	if len(told) == 0 && len(problems) > 0 {
		return problems
	}
	var again []string
	for _, m := range boldStep.FindAllStringSubmatch(architecture, -1) {
		again = append(again, m[1]+". "+m[2])
	}
	if len(told) != steps || !slices.Equal(told, again) {
		problems = append(problems, problemf("doc.go", "has the steps %q, docs/architecture.md %q: tell the same %d in both", told, again, steps))
	}
	return append(problems, places(files, architecture)...)
}

var (
	boldStep  = regexp.MustCompile(`(?m)^(\d+)\. \*\*([^*.]+)\.\*\*`)
	reference = regexp.MustCompile(`\b([A-Za-z]\w*(?:\.[A-Za-z]\w*)?) in ((?:\w+/)*\w+\.go|internal/\w+)`)
	way       = regexp.MustCompile(`(?m)^.*To follow one page.*$`)
	quoted    = regexp.MustCompile("`((?:internal/)?\\w+(?:/\\w+)*\\.go|internal/\\w+)`")
)

// storyOf returns the names of the steps in doc.go of the root, and checks the funcs that they name.
func storyOf(files []File) (told []string, problems []Problem) {
	at := slices.IndexFunc(files, func(f File) bool { return f.Path == "doc.go" })
	if at < 0 || files[at].tree.Doc == nil {
		return nil, []Problem{problemf("doc.go", "has no package comment")}
	}
	var reader comment.Parser
	var printer comment.Printer
	for _, block := range reader.Parse(files[at].tree.Doc.Text()).Content {
		list, ok := block.(*comment.List)
		if !ok || list.Items[0].Number == "" { // the steps are numbered
			continue
		}
		for i, item := range list.Items {
			text := strings.Join(strings.Fields(string(printer.Text(&comment.Doc{Content: item.Content}))), " ")
			title, _, _ := strings.Cut(text, ".")
			told = append(told, strconv.Itoa(i+1)+". "+title)
			named := reference.FindAllStringSubmatch(text, -1)
			if len(named) == 0 {
				problems = append(problems, problemf("doc.go", "step %d names no func: write one as \"acceptor.accept in accept.go\"", i+1))
			}
			for _, m := range named {
				if !declares(files, m[1], m[2]) {
					problems = append(problems, problemf("doc.go", "step %d names %s, which %s does not have", i+1, m[1], m[2]))
				}
			}
		}
	}
	return told, problems
}

// declares reports whether a file or the package of a folder has a func, or a method that is given as Type.method.
func declares(files []File, name, place string) bool {
	of, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		of, method = "", name
	}
	for _, f := range files {
		if f.isTest() || f.Path != place && path.Dir(f.Path) != place {
			continue
		}
		for _, decl := range f.tree.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Name.Name == method && receiver(d) == of {
				return true
			}
		}
	}
	return false
}

// places checks the files and rooms that a page names in backquotes.
func places(files []File, page string) []Problem {
	exists, rooms := make(map[string]bool), make(map[string]bool)
	for _, f := range files {
		exists[f.Path], exists[path.Dir(f.Path)] = true, true
		if dir := path.Dir(f.Path); path.Dir(dir) == "internal" {
			rooms[dir] = true
		}
	}
	var problems []Problem
	if !quoted.MatchString(way.FindString(page)) {
		problems = append(problems, problemf("docs/architecture.md", "lists no files to follow one page"))
	}
	for _, m := range quoted.FindAllStringSubmatch(page, -1) {
		if !exists[m[1]] {
			problems = append(problems, problemf("docs/architecture.md", "names %s, which does not exist", m[1]))
		}
		delete(rooms, m[1])
	}
	for _, dir := range slices.Sorted(maps.Keys(rooms)) {
		problems = append(problems, problemf("docs/architecture.md", "does not say what %s is for", dir))
	}
	return problems
}
