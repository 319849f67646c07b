package shell

import (
	"fmt"
	"strings"
)

// Complete returns the word that a line ends with, and what it may become.
func (s *Shell) Complete(line string) (word string, becomes []string) {
	parts := split(line + "\x00") // a blank at the end counts
	last := strings.TrimSuffix(parts[len(parts)-1], "\x00")
	if at := strings.LastIndex(last, " | "); at >= 0 && !strings.Contains(strings.TrimLeft(last[at+3:], " "), " ") {
		word = strings.TrimLeft(last[at+3:], " ")
		return word, beginning(s.names(true), "", word)
	}
	name, arg, hasArg := strings.Cut(strings.TrimLeft(last, " "), " ")
	if !hasArg {
		return name, beginning(s.names(len(parts) > 1), "", name)
	}
	word = arg[strings.LastIndexByte(arg, ' ')+1:]
	switch {
	case name == "parse" && !strings.Contains(strings.TrimLeft(arg, " "), " "):
		return word, beginning(s.host.Spiders, "", word)
	case s.page == nil:
		return word, nil
	case name == "xpath", name == "why" && strings.HasPrefix(strings.TrimLeft(arg, "(."), "/"):
		return word, s.completeXPath(word)
	case name == "css", name == "follow", name == "why":
		return word, s.completeCSS(word)
	}
	return word, nil
}

// names are those of the commands that may stand behind a |, or else first in a line.
func (s *Shell) names(piped bool) (list []string) {
	for _, c := range commands() {
		if !piped || !c.first {
			list = append(list, c.name)
		}
	}
	return list
}

// beginning returns the names that begin with a text, with a word's beginning before each.
func beginning(names []string, before, text string) (list []string) {
	for _, name := range names {
		if strings.HasPrefix(name, text) {
			list = append(list, before+name)
		}
	}
	return list
}

// completeCSS completes the name that a word ends with, by what stands before it.
func (s *Shell) completeCSS(word string) []string {
	at := len(word)
	for at > 0 {
		if at > 1 && word[at-2] == '\\' { // escaped
			at--
		} else if !isNameByte(word[at-1]) {
			break
		}
		at--
	}
	before, name, w := word[:at], word[at:], s.pageWords()
	if strings.HasSuffix(before, "::attr(") {
		return beginning(w.attrs, before, name)
	}
	if before == "" {
		return beginning(identifiers(w.tags), before, name)
	}
	switch before[len(before)-1] {
	case '.':
		return beginning(identifiers(w.classes), before, name)
	case '#':
		return beginning(identifiers(w.ids), before, name)
	case '[':
		return beginning(identifiers(w.attrs), before, name)
	case ':':
		if strings.HasSuffix(before, "::") {
			return beginning([]string{"attr(", "text"}, before, name)
		}
		return nil
	case '>', '+', '~', ',', '(':
		return beginning(identifiers(w.tags), before, name)
	}
	return nil
}

// identifiers writes names as a selector has them.
func identifiers(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = identifier(name)
	}
	return list
}

// identifier writes a name as an identifier of CSS: what cannot stand in one is escaped (CSS Object Model, section 2.1).
func identifier(name string) string {
	var b strings.Builder
	for i, r := range name {
		isDigit := r >= '0' && r <= '9'
		switch {
		case r < ' ' || r == 0x7f || isDigit && (i == 0 || i == 1 && name[0] == '-'):
			fmt.Fprintf(&b, "\\%x ", r)
		case isDigit || r == '_' || r == '-' && name != "-" || r >= 0x80 || r|0x20 >= 'a' && r|0x20 <= 'z':
			b.WriteRune(r)
		default:
			b.WriteString("\\" + string(r))
		}
	}
	return b.String()
}

func (s *Shell) completeXPath(word string) []string {
	at := len(word)
	for at > 0 && isNameByte(word[at-1]) {
		at--
	}
	before, name, w := word[:at], word[at:], s.pageWords()
	switch {
	case strings.HasSuffix(before, "@"):
		return beginning(w.attrs, before, name)
	case strings.HasSuffix(before, "/"), strings.HasSuffix(before, "::"), strings.HasSuffix(before, "["):
		return beginning(w.tags, before, name)
	}
	return nil
}
