package curl

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxCommand is the longest command line that is read, in bytes.
const MaxCommand = 64 << 20

// Words splits a command line into words as the shell does that it was written for: bash, or cmd of Windows if it has a caret in front of a
// quotation mark or of a line end, as what browsers copy has. Nothing is run and no variable is replaced: what would do
// that is an error, except in cmd, where a lone % stays. The error is a [*Error].
func Words(line string) ([]string, error) {
	if len(line) > MaxCommand {
		return nil, &Error{Reason: "the command line is longer than " + strconv.Itoa(MaxCommand) + " bytes"}
	}
	if strings.IndexByte(line, 0) >= 0 {
		return nil, &Error{Reason: "no word of a command line can have a NUL"}
	}
	if isCmd(line) {
		return cmdWords(line)
	}
	b := bash{rest: line, length: len(line)}
	return b.words()
}

// isCmd reports whether a line is written for cmd. A caret at these places means nothing to bash, outside of its own quotes.
func isCmd(line string) bool {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\'':
			return false
		case '\\':
			i++
		case '^':
			if i+1 < len(line) && (line[i+1] == '"' || line[i+1] == '\n' || line[i+1] == '\r') {
				return true
			}
		case '"':
			// Without carets in front of its quotes: "…" ^ at the ends of lines.
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// bash reads words by the rules of bash (Bash reference manual, section 3.1.2).
type bash struct {
	length int // of the line
	rest   string
	word   []byte
	inWord bool
	out    []string
}

func (b *bash) words() ([]string, error) {
	for b.rest != "" {
		c := b.rest[0]
		var err error
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' && strings.HasPrefix(b.rest, "\r\n"):
			b.end()
			b.rest = b.rest[1:]
			if c == '\n' && len(b.out) > 0 && strings.TrimSpace(b.rest) != "" {
				return nil, &Error{Reason: "there is a second command in another line; end lines that go on with \\"}
			}
		case c == '#' && !b.inWord:
			_, b.rest, _ = strings.Cut(b.rest, "\n")
			b.rest = "\n" + b.rest
		case c == '\'':
			err = b.single()
		case c == '"':
			err = b.double()
		case c == '\\':
			err = b.backslash()
		case strings.HasPrefix(b.rest, "$'"):
			err = b.ansi()
		case c == '$' && len(b.rest) > 1 && isExpansion(b.rest[1]), c == '`':
			err = b.replaced(0, "put it in single quotes")
		case string(b.word) == "@" && strings.HasPrefix(b.rest, fileOpen):
			err = b.file()
		case strings.IndexByte("|&;<>()", c) >= 0:
			err = second(c, b.at(0))
		default:
			b.add(b.rest[0])
			b.rest = b.rest[1:]
		}
		if err != nil {
			return nil, err
		}
	}
	b.end()
	return b.out, nil
}

func (b *bash) add(c byte) { b.word, b.inWord = append(b.word, c), true }

func (b *bash) end() {
	if b.inWord {
		b.out = append(b.out, string(b.word))
	}
	b.word, b.inWord = b.word[:0], false
}

// isExpansion reports whether the byte behind a $ makes it a variable or a command.
func isExpansion(c byte) bool {
	return c == '{' || c == '(' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("?!$@*#-", c) >= 0
}

func (b *bash) single() error {
	text, rest, ok := strings.Cut(b.rest[1:], "'")
	if !ok {
		return unclosed(b.at(0))
	}
	b.word, b.rest, b.inWord = append(b.word, text...), rest, true
	return nil
}

func (b *bash) double() error {
	b.inWord = true
	for i := 1; i < len(b.rest); i++ {
		switch c := b.rest[i]; {
		case c == '"':
			b.rest = b.rest[i+1:]
			return nil
		case c == '\\' && i+1 < len(b.rest):
			i++
			switch next := b.rest[i]; next {
			case '\n':
			case '$', '`', '"', '\\':
				b.word = append(b.word, next)
			default:
				b.word = append(b.word, '\\', next)
			}
		case c == '`', c == '$' && i+1 < len(b.rest) && isExpansion(b.rest[i+1]):
			return b.replaced(i, "use single quotes")
		default:
			b.word = append(b.word, c)
		}
	}
	return unclosed(b.at(0))
}

func (b *bash) backslash() error {
	switch {
	case len(b.rest) == 1: // the end of the last line
		b.rest = ""
	case b.rest[1] == '\n':
		b.rest = b.rest[2:]
	case strings.HasPrefix(b.rest, "\\\r\n"):
		b.rest = b.rest[3:]
	default:
		b.add(b.rest[1])
		b.rest = b.rest[2:]
	}
	return nil
}

// file reads what dataOption writes. The word is a NUL and the bytes, since no other word has a NUL.
func (b *bash) file() error {
	text, rest, ok := strings.Cut(b.rest[len(fileOpen):], ")")
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return &Error{Reason: "only base64 can stand in " + fileOpen + "…)"}
	}
	b.word, b.rest = append(append(b.word[:0], 0), data...), rest
	return nil
}

// escapes are those of one letter in $'…'.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansi reads $'…' (section 3.1.2.4).
func (b *bash) ansi() error {
	b.inWord = true
	cutOff := false // behind a NUL, which ends what bash keeps of the quotes
	put := func(p ...byte) {
		if !cutOff {
			b.word = append(b.word, p...)
		}
	}
	for i := 2; i < len(b.rest); i++ {
		c := b.rest[i]
		if c == '\'' {
			b.rest = b.rest[i+1:]
			return nil
		}
		if c != '\\' || i+1 == len(b.rest) {
			put(c)
			continue
		}
		i++
		c = b.rest[i]
		number := func(from, most, base int) (rune, bool) {
			end := from
			for end < len(b.rest) && end < from+most && isDigit(b.rest[end], base) {
				end++
			}
			v, err := strconv.ParseUint(b.rest[from:end], base, 32)
			if err != nil {
				return 0, false
			}
			i = end - 1
			if v == 0 {
				cutOff = true
			}
			return rune(v), true
		}
		switch {
		case escapes[c] != 0:
			put(escapes[c])
		case c >= '0' && c <= '7':
			v, _ := number(i, 3, 8)
			put(byte(v))
		case c == 'x':
			if v, ok := number(i+1, 2, 16); ok {
				put(byte(v))
			} else {
				put('\\', 'x')
			}
		case c == 'u' || c == 'U':
			most := 4
			if c == 'U' {
				most = 8
			}
			if v, ok := number(i+1, most, 16); ok {
				put(utf8.AppendRune(nil, v)...)
			} else {
				put('\\', c)
			}
		case c == 'c' && i+1 < len(b.rest):
			i++
			put(b.rest[i] & 0x1f)
		default:
			put('\\', c)
		}
	}
	return unclosed(b.at(0))
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// No error shows a part of the line, which may be a password: all say where it is.

// position names a place in a line.
func position(index int) string { return " at byte " + strconv.Itoa(index+1) }

// at names the place of what lies so far behind what was read.
func (b *bash) at(ahead int) string { return position(b.length - len(b.rest) + ahead) }

func (b *bash) replaced(ahead int, or string) error {
	return &Error{Reason: "the shell would replace the " + b.rest[ahead:ahead+1] + b.at(ahead) + " and what belongs to it; write its value, or " + or}
}

func second(sign byte, where string) error {
	return &Error{Reason: "only the curl command can be read; remove the " + string(rune(sign)) + where + " and what follows, or quote it"}
}

func unclosed(where string) error {
	return &Error{Reason: "the quotation" + where + " is not closed"}
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// cmdWords reads words by the rules of cmd, whose carets go first, and of the C runtime of Windows, which then splits the line.
func cmdWords(line string) ([]string, error) {
	var plain []byte
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '^' && !quoted:
			if i++; i < len(line) && line[i] == '\r' && i+1 < len(line) && line[i+1] == '\n' {
				i++
			}
			if i < len(line) && line[i] == '\n' { // the line goes on, and its first character is not special
				if i++; i < len(line) && line[i] == '\r' && i+1 < len(line) && line[i+1] == '\n' {
					i++
				}
			}
			if i < len(line) {
				plain = append(plain, line[i])
			}
		case c == '"':
			quoted = !quoted
			plain = append(plain, c)
		case !quoted && strings.IndexByte("|&<>", c) >= 0:
			return nil, second(c, position(i))
		case c == '\n' && !quoted && strings.TrimSpace(line[i:]) != "":
			return nil, &Error{Reason: "there is a second command in another line; end lines that go on with ^"}
		default:
			plain = append(plain, c)
		}
	}
	return splitWindows(plain)
}

// splitWindows splits a line, whose carets were removed, into words: backslashes count in front of a quotation mark alone.
func splitWindows(line []byte) ([]string, error) {
	var out []string
	var word []byte
	inWord, quoted, opened := false, false, 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\':
			n := i
			for n < len(line) && line[n] == '\\' {
				n++
			}
			slashes := n - i
			inWord = true
			if n < len(line) && line[n] == '"' {
				for range slashes / 2 {
					word = append(word, '\\')
				}
				if slashes%2 == 1 {
					word = append(word, '"')
					n++
				}
			} else {
				word = append(word, line[i:n]...)
			}
			i = n - 1
		case c == '"':
			inWord = true
			if quoted && i+1 < len(line) && line[i+1] == '"' { // "" in quotes
				word = append(word, '"')
				i++
				continue
			}
			quoted, opened = !quoted, i
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if inWord {
				out = append(out, string(word))
			}
			word, inWord = word[:0], false
		default:
			word, inWord = append(word, c), true
		}
	}
	if quoted {
		return nil, unclosed(position(opened))
	}
	if inWord {
		out = append(out, string(word))
	}
	return out, nil
}
