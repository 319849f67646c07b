package jsontext

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Path returns a path for gjson in which a name that begins with "@" is a key, as those of JSON-LD are, also where gjson would
// read a modifier: "@graph.0.@reverse.author". Behind a "|" it stays a modifier, and so does "@this", the whole value, anywhere.
func Path(path string) string {
	if !strings.Contains(path, "@") {
		return path
	}
	var b []byte
	done := 0
	before := byte('.') // the last sign, or 0 within a name, a string or an argument
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '\\':
			i++
			before = 0
		case '"':
			for i++; i < len(path) && path[i] != '"'; i++ {
				if path[i] == '\\' {
					i++
				}
			}
			before = 0
		case '@':
			if before == '|' || before == 0 || !isModifier(path[i+1:]) {
				before = 0
				continue
			}
			b = append(append(b, path[done:i]...), '\\')
			done, before = i, 0
		case '.', '(', '[', '{', ',', ':', '|':
			before = c
		default:
			before = 0
		}
	}
	return string(append(b, path[done:]...))
}

// isModifier reports whether a path begins with the name of a modifier other than "this".
func isModifier(path string) bool {
	name := path
	if end := strings.IndexAny(path, ".|:,)]}=!<>% "); end >= 0 {
		name = path[:end]
	}
	return name != "this" && gjson.ModifierExists(name, nil)
}
