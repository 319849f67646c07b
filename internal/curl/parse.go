package curl

import (
	"encoding/base64"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// parser gathers what the options of a line say.
type parser struct {
	open         Open
	urls         []string
	method       string
	fields       []Field
	removed      []string
	body         []byte // nil: none
	jsonBody     bool
	form         []forms.Entry
	queries      []string // of --url-query
	get, head    bool
	cookies      []string
	auth         string // of -u
	proxy        string
	proxyUser    string
	agent        string
	hasAgent     bool
	referer      string
	ranged       string
	follow       bool
	maxRedirects int
	timeout      time.Duration
	globOff      bool
}

// maxWords is how many words a command has at most. The headers of a request are looked up one by one.
const maxWords = 10_000

// Parse reads a command line, see [Words]. The files that it names with @ are opened with open. The error is an
// [*Error] that names the option.
func Parse(line string, open Open) (*Command, error) {
	words, err := Words(line)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && words[0] == "$" { // a prompt
		words = words[1:]
	}
	if len(words) == 0 || strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(words[0], `\`, "/"))), ".exe") != "curl" {
		return nil, &Error{Reason: "the line does not begin with curl"}
	}
	if len(words) > maxWords {
		return nil, &Error{Reason: "the command has more than " + strconv.Itoa(maxWords) + " words"}
	}
	p := &parser{open: open, maxRedirects: -1}
	for words = words[1:]; len(words) > 0; {
		word := words[0]
		words = words[1:]
		if len(word) > 1 && word[0] == '-' && word != "--" {
			used, err := p.word(word, words)
			if err != nil {
				return nil, err
			}
			words = words[used:]
			continue
		}
		if word == "--" {
			p.urls, words = append(p.urls, words...), nil
			continue
		}
		p.urls = append(p.urls, word)
	}
	return p.command()
}

// command makes the request of the options, by the order of precedence that curl has.
func (p *parser) command() (*Command, error) {
	c := &Command{Method: p.method, Header: p.fields, Follow: p.follow, MaxRedirects: p.maxRedirects, Timeout: p.timeout}
	switch len(p.urls) {
	case 0:
		return nil, &Error{Reason: "there is no URL"}
	case 1:
	default:
		return nil, &Error{Reason: "there are " + strconv.Itoa(len(p.urls)) + " URLs; a command is one request, so quote " +
			"what belongs together and write one command for each"}
	}
	var err error
	if c.URL, err = p.url(); err != nil {
		return nil, err
	}
	if err := p.setBody(c); err != nil {
		return nil, err
	}
	isDefault := func(name string) bool {
		_, has := c.Get(name)
		return !has && !slices.ContainsFunc(p.removed, func(r string) bool { return strings.EqualFold(r, name) })
	}
	set := func(name, value string) {
		if value != "" && isDefault(name) {
			c.Header = append(c.Header, Field{name, value})
		}
	}
	if p.jsonBody {
		set("Content-Type", "application/json")
		set("Accept", "application/json")
	}
	switch {
	case c.Form != nil:
		set("Content-Type", c.Form.Type)
	case c.Body != nil:
		set("Content-Type", urlEncoded)
	}
	set("User-Agent", p.agent)
	if _, ok := c.Get("User-Agent"); !ok && (p.hasAgent && p.agent == "" || slices.ContainsFunc(p.removed, func(r string) bool { return strings.EqualFold(r, "User-Agent") })) {
		c.Header = append(c.Header, Field{"User-Agent", ""})
	}
	set("Referer", p.referer)
	set("Range", p.ranged)
	set("Authorization", p.auth)
	if len(p.cookies) > 0 && isDefault("Cookie") {
		raw := strings.Join(p.cookies, ";")
		if c.Cookies = pairs(raw); c.Cookies == nil {
			c.Header = append(c.Header, Field{"Cookie", raw})
		}
	}
	if p.proxy != "" {
		if c.Proxy, err = p.proxyURL(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// pairs returns cookies by name if they would be written the same way again, nil if not.
func pairs(raw string) map[string]string {
	out := make(map[string]string)
	last := ""
	for _, pair := range strings.Split(raw, "; ") {
		name, value, ok := strings.Cut(pair, "=")
		if cookie := (http.Cookie{Name: name, Value: value}); !ok || name <= last || cookie.Valid() != nil || strings.ContainsAny(value, " ,\"") {
			return nil
		}
		last = name
		out[name] = value
	}
	return out
}

// setBody sets method and body.
func (p *parser) setBody(c *Command) error {
	hasBody := p.body != nil && !p.get || len(p.form) > 0
	switch {
	case p.body != nil && len(p.form) > 0:
		return &Error{Option: "-F", Reason: "a request has one body, and -d makes another"}
	case p.head && hasBody:
		return &Error{Option: "-I", Reason: "a HEAD request has no body; remove it, or -d and -F"}
	case p.head && c.Method == "":
		c.Method = http.MethodHead
	case hasBody && c.Method == "":
		c.Method = http.MethodPost
	case c.Method == "":
		c.Method = http.MethodGet
	}
	switch {
	case !hasBody:
	case len(p.form) == 0:
		c.Body = p.body
	default:
		body, err := forms.Multipart(p.form...)
		if err != nil {
			return &Error{Option: "-F", Reason: "its file cannot be read", Err: err}
		}
		if data, ok := body.Bytes(); ok {
			c.Body = data
			if _, typed := c.Get("Content-Type"); !typed {
				c.Header = append(c.Header, Field{"Content-Type", body.Type})
			}
			return nil
		}
		c.Form = body
	}
	return nil
}

// url returns the one URL, with the fields of -G and --url-query in its query.
func (p *parser) url() (string, error) {
	url, err := p.unglob(p.urls[0])
	if err != nil {
		return "", err
	}
	if scheme, _, ok := strings.Cut(url, "://"); !ok {
		url = "http://" + url
	} else if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return "", &Error{Reason: "only URLs of http and https can be requested, not of " + strconv.Quote(cut(scheme, 20))}
	}
	url, fragment, hasFragment := strings.Cut(url, "#")
	if strings.ContainsAny(url, " \t\r\n") {
		return "", &Error{Reason: "the URL has white space in it; write %20 for a space"}
	}
	add := slices.Clone(p.queries)
	if p.get && p.body != nil {
		add = append(add, string(p.body))
	}
	for _, query := range add {
		switch {
		case query == "":
		case strings.HasSuffix(url, "?"):
			url += query
		case strings.Contains(url, "?"):
			url += "&" + query
		default:
			url += "?" + query
		}
	}
	if hasFragment { // it is not sent, and may mean something to the parser
		url += "#" + fragment
	}
	if _, err := urlx.HTTP(url); err != nil {
		return "", &Error{Reason: "the URL cannot be requested", Err: urlx.Cause(err)}
	}
	return url, nil
}

// unglob reads a URL as curl does, where [1-9] and {a,b} stand for several URLs unless there is -g, and a backslash makes a bracket one.
func (p *parser) unglob(url string) (string, error) {
	if p.globOff || !strings.ContainsAny(url, `[]{}`) {
		return url, nil
	}
	var b strings.Builder
	for i := 0; i < len(url); i++ {
		switch c := url[i]; {
		case c == '\\' && i+1 < len(url) && strings.IndexByte("[]{}", url[i+1]) >= 0:
			i++
			b.WriteByte(url[i])
		case c == '[' && strings.Contains(url[i:], ":") && strings.HasSuffix(b.String(), "//") || c == '[' && strings.HasSuffix(b.String(), "@"): // an IPv6 address
			end := strings.IndexByte(url[i:], ']')
			if end < 0 {
				return "", &Error{Reason: "the URL has a bracket that is not closed"}
			}
			b.WriteString(url[i : i+end+1])
			i += end
		case strings.IndexByte("[]{}", c) >= 0:
			return "", &Error{Reason: "brackets and braces in the URL stand for several URLs; a command is one request. If " +
				"they are meant as they are, add -g"}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// headerLine reads a header.
func (p *parser) headerLine(name, line string) error {
	line = strings.TrimRight(line, "\r\n")
	if field, value, ok := strings.Cut(line, ":"); ok {
		if value = strings.TrimLeft(value, " \t"); value == "" {
			p.removed = append(p.removed, strings.TrimSpace(field))
			return nil
		}
		p.addHeader(strings.TrimSpace(field), value)
		return nil
	}
	if field, ok := strings.CutSuffix(strings.TrimSpace(line), ";"); ok {
		p.addHeader(field, "")
		return nil
	}
	return &Error{Option: name, Reason: "a header is written as \"Name: value\", or \"Name;\" without a value"}
}

// addHeader adds a header; one of the same name gets both values (RFC 9110 §5.3), cookies with a semicolon between.
func (p *parser) addHeader(name, value string) {
	for i := range p.fields {
		if f := &p.fields[i]; strings.EqualFold(f.Name, name) {
			between := ", "
			if strings.EqualFold(name, "Cookie") {
				between = "; "
			}
			f.Value += between + value
			return
		}
	}
	p.fields = append(p.fields, Field{name, value})
}

// cookie reads -b.
func (p *parser) cookie(name, value string) error {
	if value != "" && !strings.Contains(value, "=") {
		return &Error{Option: name, Reason: "files of cookies are not read; write -b \"name=value\", or use middleware.Cookies"}
	}
	if value != "" {
		p.cookies = append(p.cookies, value)
	}
	return nil
}

// login reads -u.
func (p *parser) login(name, value string) error {
	if !strings.Contains(value, ":") {
		return &Error{Option: name, Reason: "the password is missing, and nobody can be asked for it; write user:password"}
	}
	p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(value))
	return nil
}

func (p *parser) redirects(name, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return &Error{Option: name, Reason: "it is not a number"}
	}
	if p.maxRedirects = n; n < 0 {
		return &Error{Option: name, Reason: "a chain of redirects without end is not followed; write how many"}
	}
	return nil
}

func (p *parser) maxTime(name, value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || seconds < 0 || seconds > 1e9 {
		return &Error{Option: name, Reason: "it is not a number of seconds"}
	}
	p.timeout = time.Duration(seconds * float64(time.Second))
	return nil
}

// proxyURL returns the proxy as a URL. Its port is 1080 unless one is named, as curl has it.
func (p *parser) proxyURL() (string, error) {
	scheme, rest, ok := strings.Cut(p.proxy, "://")
	if !ok {
		scheme, rest = "http", p.proxy
	}
	switch scheme = strings.ToLower(scheme); scheme {
	case "http", "https", "socks5":
	case "socks5h":
		scheme = "socks5"
	default:
		return "", &Error{Option: "-x", Reason: "a proxy is of http, https or socks5"}
	}
	rest = strings.TrimSuffix(rest, "/")
	if p.proxyUser != "" {
		_, host, ok := strings.Cut(rest, "@")
		if !ok {
			host = rest
		}
		user, password, _ := strings.Cut(p.proxyUser, ":")
		rest = escape(user) + ":" + escape(password) + "@" + host
	}
	url := scheme + "://" + rest
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	if !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
		if scheme == "https" {
			url += ":443"
		} else {
			url += ":1080"
		}
	}
	return url, nil
}
