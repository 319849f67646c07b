package warc

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// query is how a page was asked for. The bodies of other requests than GET are in the keys of an index as if they were
// in the query of the URL: replay tools look for them there, under names of their own.
type query struct {
	method string
	text   string // of the body
}

// mostQuery is how much of a body is in the index.
const mostQuery = 4096

// mostRequest is how much of a body is read for that.
const mostRequest = 1 << 20

// queryOf reads the block of a request record.
func queryOf(block io.Reader) (*query, error) {
	limited := &io.LimitedReader{R: block, N: mostHeader}
	from := bufio.NewReader(limited)
	line, err := from.ReadString('\n')
	method, _, ok := strings.Cut(line, " ")
	if err != nil || !ok {
		return nil, fmt.Errorf("the request line is %.40q", line)
	}
	q := &query{method: method}
	if method == http.MethodGet {
		return q, nil
	}
	mediaType := ""
	for line != "\r\n" && line != "\n" && err == nil {
		line, err = from.ReadString('\n')
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Content-Type") {
			mediaType = strings.TrimSpace(value)
		}
	}
	limited.N = mostRequest
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	q.text = queryText(mediaType, body)
	if len(q.text) > mostQuery {
		q.text = q.text[:mostQuery]
	}
	return q, nil
}

// queryText writes a body as a query.
func queryText(mediaType string, body []byte) string {
	switch bareType(mediaType) {
	case "application/x-www-form-urlencoded":
		return string(body)
	case "application/json":
		text, _ := jsonQuery(body) // as far as it is JSON
		return text
	case "text/plain":
		if text, err := jsonQuery(body); err == nil {
			return text
		}
	case "multipart/form-data":
		return partsQuery(mediaType, body)
	}
	return "__wb_post_data=" + base64.StdEncoding.EncodeToString(body)
}

// appendTo returns a URL with the query added.
func (q *query) appendTo(target string) string {
	joint := "?"
	if strings.IndexByte(target, '?') > 0 {
		joint = "&"
	}
	return target + joint + "__wb_method=" + q.method + "&" + decodeURI(q.text)
}

// decodeURI undoes percent-encoding as the function of JavaScript of this name does: not that of characters that have a
// meaning in URLs, and nothing at all if what comes out is not UTF-8.
func decodeURI(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return ""
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return ""
		}
		if strings.IndexByte(";/?:@&=+$,#", byte(c)) >= 0 {
			b.WriteString(s[i : i+3])
		} else {
			b.WriteByte(byte(c))
		}
		i += 2
	}
	if !utf8.ValidString(b.String()) {
		return ""
	}
	return b.String()
}

// fields are the names and values of a query, in their order.
type fields struct {
	names []string
	text  map[string]string
	twice map[string]int
}

func (f *fields) set(name, value string) {
	if f.text == nil {
		f.text, f.twice = make(map[string]string), make(map[string]int)
	}
	if _, known := f.text[name]; !known {
		f.names = append(f.names, name)
	}
	f.text[name] = value
}

// add sets a name that may be there already.
func (f *fields) add(name, value string) {
	if _, known := f.text[name]; known {
		if f.twice[name] == 0 {
			f.twice[name] = 1
		}
		f.twice[name]++
		name = fmt.Sprintf("%s.%d_", name, f.twice[name])
	}
	f.set(name, value)
}

// String writes the fields as a form is sent (WHATWG URL standard, §5.2).
func (f *fields) String() string {
	parts := make([]string, len(f.names))
	for i, name := range f.names {
		parts[i] = formEncode(name) + "=" + formEncode(f.text[name])
	}
	return strings.Join(parts, "&")
}

// formEscapes is where forms are encoded otherwise than by package url.
var formEscapes = strings.NewReplacer("~", "%7E", "%2A", "*")

func formEncode(s string) string { return formEscapes.Replace(url.QueryEscape(s)) }

// jsonQuery writes the values of JSON as a query, each by the name of the closest object; empty ones are left out. Of
// what is no JSON the error comes with what stands before.
func jsonQuery(body []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var f fields
	if !json.Valid(body) {
		return "", fmt.Errorf("the body is no JSON")
	}
	var walk func(name string) error
	walk = func(name string) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch v := token.(type) {
		case json.Delim:
			for dec.More() {
				inner := name
				if v == '{' {
					key, err := dec.Token()
					if err != nil {
						return err
					}
					inner, _ = key.(string)
				}
				if err := walk(inner); err != nil {
					return err
				}
			}
			_, err = dec.Token()
			return err
		case string:
			if v != "" {
				f.add(name, v)
			}
		case json.Number:
			f.add(name, numberText(v))
		case bool:
			f.add(name, strconv.FormatBool(v))
		case nil:
			f.add(name, "null")
		}
		return nil
	}
	err := walk("")
	return f.String(), err
}

// numberText writes a number as JavaScript does, for those that are not very large or very small.
func numberText(n json.Number) string {
	v, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// mostBoundary is how long the boundary of a form may be (RFC 2046 §5.1.1). The time for a search grows with its length.
const mostBoundary = 70

var partName = regexp.MustCompile(`(?i)name="([^"]+)"\r\n\r\n([^\r\n]*)`)

// partsQuery writes the fields of a form with several parts as a query.
func partsQuery(mediaType string, body []byte) string {
	_, boundary, ok := strings.Cut(mediaType, "boundary=")
	if !ok || boundary == "" || len(boundary) > mostBoundary {
		return ""
	}
	between, err := regexp.Compile("(?i)-*" + regexp.QuoteMeta(boundary) + "-*")
	if err != nil {
		return ""
	}
	var f fields
	for _, part := range between.Split(string(body), -1) {
		if m := partName.FindStringSubmatch(strings.TrimSpace(part)); m != nil {
			f.set(m[1], m[2])
		}
	}
	return f.String()
}
