package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/selector"
)

// why prints how many nodes each step of a selector keeps. What begins as a path does is XPath.
func (s *Shell) why(_ context.Context, c call) (*selector.Selection, error) {
	compile, steps := selector.Compile, cssSteps
	if strings.HasPrefix(strings.TrimLeft(c.arg, "(."), "/") {
		compile, steps = selector.CompileXPath, xpathSteps
	}
	if _, err := compile(c.arg); err != nil {
		return nil, fmt.Errorf("why: %w", plain(err))
	}
	in := c.in
	if !c.piped {
		in = s.page.XPath("/")
	}
	if in.Len() > 0 && len(in.Nodes()) == 0 {
		return nil, errors.New("why: a selector selects in nodes, and what came through the | are texts")
	}
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, branch := range steps(c.arg) {
		if i > 0 {
			fmt.Fprintln(table)
		}
		ended := false
		for _, step := range branch {
			query, err := compile(step)
			if err != nil { // no step of its own
				continue
			}
			n := in.Select(query).Len()
			remark := ""
			if n == 0 && !ended {
				ended, remark = true, "  <- nothing is left"+s.similar(step)
			}
			fmt.Fprintf(table, "%d\t  %s%s\n", n, s.host.Printable(step), s.host.Printable(remark))
		}
	}
	return nil, table.Flush()
}

// similar names what the page has instead of the class, id, element or attribute that a step ends with.
func (s *Shell) similar(step string) string {
	at := len(step)
	for at > 0 && isNameByte(step[at-1]) {
		at--
	}
	name, kind, w := step[at:], byte(0), s.pageWords()
	if at > 0 {
		kind = step[at-1]
	}
	have := w.tags
	switch kind {
	case '.':
		have = w.classes
	case '#':
		have = w.ids
	case '@':
		have = w.attrs
	case ']', ')', ':', '*', '"', '\'':
		return ""
	}
	if name == "" || slices.Contains(have, name) {
		return ""
	}
	if near := setting.Nearest(name, have); near != "" {
		return fmt.Sprintf("; the page has %q", near)
	}
	return fmt.Sprintf("; the page has no %q", name)
}

func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// scan calls visit for each byte of a query that stands in no string, in no brackets and behind no backslash. Of brackets it
// is called for the opening one and, once they are all closed, for the closing one.
func scan(query string, visit func(at int, c byte)) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			if depth == 0 {
				visit(i, c)
			}
			depth++
		case c == ')' || c == ']':
			if depth > 0 {
				depth--
			}
			if depth == 0 {
				visit(i, c)
			}
		case depth == 0:
			visit(i, c)
		}
	}
}

// branches divides a query at a separator, and returns the beginnings of each branch that end at a cut.
func branches(query string, separator byte, cut func(branch string, at int, c byte) []int) (list [][]string) {
	var ends []int
	scan(query, func(at int, c byte) {
		if c == separator {
			ends = append(ends, at)
		}
	})
	start := 0
	for _, end := range append(ends, len(query)) {
		branch := strings.TrimSpace(query[start:end])
		start = end + 1
		var cuts []int
		scan(branch, func(at int, c byte) { cuts = append(cuts, cut(branch, at, c)...) })
		cuts = append(cuts, len(branch))
		slices.Sort(cuts)
		var steps []string
		for _, at := range slices.Compact(cuts) {
			step := strings.TrimRight(branch[:at], " \t>+~")
			if step != "" && (len(steps) == 0 || steps[len(steps)-1] != step) {
				steps = append(steps, step)
			}
		}
		list = append(list, steps)
	}
	return list
}

// cssSteps returns the beginnings of each selector of a list, each longer by a simple selector: a, a.b, a.b > c.
func cssSteps(query string) [][]string {
	return branches(query, ',', func(branch string, at int, c byte) []int {
		switch c {
		case ':':
			if at > 0 && branch[at-1] == ':' { // a pseudo-element
				return nil
			}
			return []int{at}
		case '.', '#', '[', ' ', '>', '+', '~':
			return []int{at}
		}
		return nil
	})
}

// xpathSteps returns the beginnings of each path of a union, each longer by a step or a predicate: //a, //a[b], //a[b]/@c.
func xpathSteps(query string) [][]string {
	return branches(query, '|', func(branch string, at int, c byte) []int {
		switch {
		case c == '/' && at > 0 && branch[at-1] != '/' && branch[at-1] != '.', c == '[':
			return []int{at}
		}
		return nil
	})
}
