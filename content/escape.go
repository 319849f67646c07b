package content

import "bytes"

// special are the characters that Markdown takes for markup wherever they are, or nearly so.
var special = func() (set [128]bool) {
	for _, c := range []byte("\\`*_[]<&~|") {
		set[c] = true
	}
	return set
}()

// escape appends a word so that Markdown has it as it is. Where a character would be taken for something in its place alone, it is
// escaped in that place alone. Bare URLs and addresses would be made links by GFM (section 6.9) if their words stood as they are.
func (w *writer) escape(word []byte, links bool) {
	for i, c := range word {
		if c >= 128 {
			w.para = append(w.para, c)
			continue
		}
		escaped := false
		switch c {
		case '\\', '`', '*', '[', ']', '~':
			escaped = true
		case '_':
			escaped = i == 0 || i == len(word)-1 || !isWordByte(word[i-1]) || !isWordByte(word[i+1])
		case '<':
			escaped = i+1 == len(word) || isLetter(word[i+1]) || word[i+1] == '/' || word[i+1] == '!' || word[i+1] == '?'
		case '&':
			escaped = i+1 == len(word) && i > 0 || i+1 < len(word) && (isLetter(word[i+1]) || word[i+1] == '#')
		case '|':
			escaped = w.cell
		case '$':
			escaped = w.x.hasFormulas
		case ':':
			escaped = bytes.HasPrefix(word[i+1:], []byte("//")) && i >= 3 || isEmoji(word[i+1:])
		case '.':
			escaped = i >= 3 && bytes.EqualFold(word[i-3:i], []byte("www"))
		case '@':
			escaped = links && len(word) > 1
		}
		if escaped {
			w.para = append(w.para, '\\')
		}
		w.para = append(w.para, c)
	}
}

func isWordByte(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c >= 128 }

// isEmoji reports whether text goes on as the name of an emoji does after its colon.
func isEmoji(text []byte) bool {
	for i, c := range text {
		switch {
		case c == ':':
			return i > 0
		case !isLetter(c) && (c < '0' || c > '9') && c != '_' && c != '+' && c != '-':
			return false
		}
	}
	return false
}

// escapeAt returns where a line of text needs a backslash so that it does not begin a block, -1 for nowhere.
func escapeAt(line []byte) int {
	if len(line) == 0 {
		return -1
	}
	switch c := line[0]; c {
	case '-', '+':
		if len(line) == 1 || line[1] == ' ' || line[1] == c || line[1] == '|' || line[1] == ':' {
			return 0
		}
	case '=', '>', '|':
		return 0
	case ':':
		if len(line) > 1 && line[1] == '-' {
			return 0
		}
	case '#':
		rest := bytes.TrimLeft(line, "#")
		if len(rest) == 0 || rest[0] == ' ' {
			return 0
		}
	}
	i := 0
	for i < len(line) && i < 10 && '0' <= line[i] && line[i] <= '9' {
		i++
	}
	if i > 0 && i < len(line) && (line[i] == '.' || line[i] == ')') && (i+1 == len(line) || line[i+1] == ' ') {
		return i
	}
	return -1
}
