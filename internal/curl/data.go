package curl

import (
	"io"
	"path"
	"strings"

	"github.com/tegenaria/tegenaria/forms"
)

// addBody appends to the body, with what separates it.
func (p *parser) addBody(data []byte, separator string) {
	if p.body == nil {
		p.body = append([]byte{}, data...)
		return
	}
	p.body = append(append(p.body, separator...), data...)
}

// data reads -d and its kin. files: @ names a file; lines: the line ends of a file are removed.
func (p *parser) data(name, value string, files, lines bool) error {
	file, isFile := strings.CutPrefix(value, "@")
	plain, isPlain := strings.CutPrefix(value, "\x00")
	switch {
	case isPlain:
		p.addBody([]byte(plain), "&")
	case files && isFile:
		data, err := p.open.read(name, file)
		if err != nil {
			return err
		}
		if lines {
			data = []byte(strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(string(data)))
		}
		p.addBody(data, "&")
	default:
		p.addBody([]byte(value), "&")
	}
	return nil
}

// json reads --json.
func (p *parser) json(name, value string) error {
	p.jsonBody = true
	data := []byte(value)
	if file, ok := strings.CutPrefix(value, "@"); ok {
		var err error
		if data, err = p.open.read(name, file); err != nil {
			return err
		}
	}
	p.addBody(data, "")
	return nil
}

// encoded reads the value of --data-urlencode: content, =content, name=content, @file or name@file.
func (p *parser) encoded(name, value string) (string, error) {
	i := strings.IndexAny(value, "=@")
	if i < 0 {
		return escapePlus(value), nil
	}
	field, content := value[:i], value[i+1:]
	if value[i] == '@' {
		data, err := p.open.read(name, content)
		if err != nil {
			return "", err
		}
		content = string(data)
	}
	if content = escapePlus(content); field != "" {
		content = field + "=" + content
	}
	return content, nil
}

func (p *parser) urlencode(name, value string) error {
	text, err := p.encoded(name, value)
	if err == nil {
		p.addBody([]byte(text), "&")
	}
	return err
}

// query reads --url-query: the same for the query of the URL, or text as it is behind a +.
func (p *parser) query(name, value string) error {
	text, plain := strings.CutPrefix(value, "+")
	if !plain {
		var err error
		if text, err = p.encoded(name, value); err != nil {
			return err
		}
	}
	p.queries = append(p.queries, text)
	return nil
}

// escape percent-encodes all but the unreserved characters of RFC 3986 §2.3.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// escapePlus is escape with a plus for a space.
func escapePlus(s string) string { return strings.ReplaceAll(escape(s), "%20", "+") }

// fileTypes are the media types that curl knows.
var fileTypes = map[string]string{
	".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain",
	".htm": "text/html", ".html": "text/html", ".pdf": "application/pdf", ".xml": "application/xml",
}

// formField reads -F: name=value, name=@file, name=<file, each with ;type=, and ;filename= of files.
func (p *parser) formField(option, value string, literal bool) error {
	name, content, ok := strings.Cut(value, "=")
	if !ok {
		return &Error{Option: option, Reason: "a field is written as name=value"}
	}
	if literal {
		p.form = append(p.form, forms.Text(name, content))
		return nil
	}
	kind := byte(0)
	if content != "" && (content[0] == '@' || content[0] == '<') {
		kind, content = content[0], content[1:]
	}
	if content != "" && content[0] == '(' && kind == 0 {
		return &Error{Option: option, Reason: "parts inside of parts cannot be sent"}
	}
	ends := ";"
	if kind == '@' {
		ends = ";,"
	}
	text, rest := formWord(content, ends)
	params, err := formParams(option, rest)
	if err != nil {
		return err
	}
	entry := forms.Entry{Name: name, Value: text, Type: params["type"]}
	switch kind {
	case '<':
		data, err := p.open.read(option, text)
		if err != nil {
			return err
		}
		entry.Value = string(data)
	case '@':
		if text == "-" {
			return &Error{Option: option, Reason: "there is no standard input to read from; name a file"}
		}
		file := forms.File{Name: path.Base(strings.ReplaceAll(text, `\`, "/")), Type: params["type"], Open: func() (io.ReadCloser, error) { return p.open(text) }}
		if name, ok := params["filename"]; ok {
			file.Name = name
		}
		if file.Type == "" {
			if file.Type = fileTypes[strings.ToLower(path.Ext(file.Name))]; file.Type == "" {
				file.Type = "application/octet-stream"
			}
		}
		entry = forms.Upload(name, file)
	default:
		if name, ok := params["filename"]; ok {
			kind := params["type"]
			if kind == "" {
				if kind = fileTypes[strings.ToLower(path.Ext(name))]; kind == "" {
					kind = "application/octet-stream"
				}
			}
			entry = forms.Upload(entry.Name, forms.File{Name: name, Type: kind, Data: []byte(text)})
		}
	}
	p.form = append(p.form, entry)
	return nil
}

// formWord reads what stands before one of the ends, or in quotation marks.
func formWord(s, ends string) (word, rest string) {
	if !strings.HasPrefix(s, `"`) {
		if i := strings.IndexAny(s, ends); i >= 0 {
			return s[:i], s[i:]
		}
		return s, ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			rest = s[i+1:]
			if j := strings.IndexAny(rest, ends); j >= 0 {
				return b.String(), rest[j:]
			}
			return b.String(), ""
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '\\' || s[i+1] == '"'):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return s, "" // not closed: it is part of the word
}

// formParams reads ;type=… and ;filename=….
func formParams(option, s string) (map[string]string, error) {
	params := make(map[string]string)
	for s != "" {
		if s[0] == ',' {
			return nil, &Error{Option: option, Reason: "several files in one field cannot be sent; write -F for each"}
		}
		s = strings.TrimLeft(s[1:], " \t")
		key, value, ok := strings.Cut(s, "=")
		switch {
		case ok && key == "filename":
			params[key], s = formWord(value, ";,")
		case ok && key == "type":
			end := len(value)
			for _, next := range []string{";filename=", "; filename=", ";headers=", ";encoder="} {
				if i := strings.Index(value, next); i >= 0 {
					end = min(end, i)
				}
			}
			params[key], s = strings.TrimSpace(value[:end]), value[end:]
		case ok && (key == "headers" || key == "encoder"):
			return nil, &Error{Option: option, Reason: ";" + key + "= is not known here"}
		default:
			return nil, &Error{Option: option, Reason: "behind a semicolon stand type= and filename=; put a value that has " +
				"semicolons in quotation marks, or use --form-string"}
		}
	}
	return params, nil
}

// headerArg reads -H: a header, or a file with one in each line.
func (p *parser) headerArg(name, value string) error {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return p.headerLine(name, value)
	}
	data, err := p.open.read(name, file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := p.headerLine(name, line); err != nil {
			return err
		}
	}
	return nil
}
