package curl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/forms"
)

// Error says why a command line cannot be read. It has no value of an option, which may be a secret.
type Error struct {
	Option string // as it is written; "" if it is about the whole line
	Reason string // what is wrong, and the remedy
	Err    error  // the cause; may be nil
}

// Error names the option.
func (e *Error) Error() string {
	text := "curl: "
	if e.Option != "" {
		text += fmt.Sprintf("option %.100s: ", e.Option)
	}
	if text += e.Reason; e.Err != nil {
		text += fmt.Sprintf(": %v", e.Err)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Field is a header.
type Field struct{ Name, Value string }

// Command is one request of a command line.
type Command struct {
	URL          string
	Method       string  // "": POST with a body, and GET without
	Header       []Field // each name once, whatever its case; in the order of the line
	Cookies      map[string]string
	Body         []byte      // nil: none
	Form         *forms.Body // a multipart body with files, in place of Body; nil: none
	Proxy        string      // "": none
	Follow       bool        // redirects are followed
	MaxRedirects int         // negative: not said
	Timeout      time.Duration
}

// SetHeader sets a header, which replaces one of the same name.
func (c *Command) SetHeader(name, value string) {
	for i := range c.Header {
		if strings.EqualFold(c.Header[i].Name, name) {
			c.Header[i] = Field{name, value}
			return
		}
	}
	c.Header = append(c.Header, Field{name, value})
}

// Get returns the value of a header, and whether there is one.
func (c *Command) Get(name string) (string, bool) {
	for _, f := range c.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// urlEncoded is the Content-Type that a body has by default.
const urlEncoded = "application/x-www-form-urlencoded"

// String writes the command line in one line, for bash. Equal commands give equal lines. [Parse] reads it back.
func (c *Command) String() string {
	words := []string{"curl"}
	add := func(option, value string) { words = append(words, option+" "+Quote(value)) }
	if strings.ContainsAny(c.URL, "[]{}") {
		words = append(words, "-g")
	}
	if strings.HasPrefix(c.URL, "-") {
		add("--url", c.URL)
	} else {
		words = append(words, Quote(c.URL))
	}
	hasBody := c.Body != nil || c.Form != nil
	switch method := c.Method; {
	case method == http.MethodHead && !hasBody:
		words = append(words, "-I")
	case method == "", method == http.MethodGet && !hasBody, method == http.MethodPost && hasBody:
	default:
		add("-X", method)
	}
	for _, f := range c.Header {
		switch {
		case hasBody && f == Field{"Content-Type", urlEncoded}: // the default
		case f.Value == "" && strings.EqualFold(f.Name, "User-Agent"):
			add("-H", f.Name+":") // it is not sent
		case f.Value == "":
			add("-H", f.Name+";")
		default:
			add("-H", f.Name+": "+f.Value)
		}
	}
	if _, typed := c.Get("Content-Type"); hasBody && !typed {
		add("-H", "Content-Type:")
	}
	if len(c.Cookies) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(c.Cookies)) {
			pairs = append(pairs, name+"="+c.Cookies[name])
		}
		add("-b", strings.Join(pairs, "; "))
	}
	switch {
	case c.Form != nil:
		words = append(words, "--data-binary @-") // the caller has it
	case c.Body != nil:
		words = append(words, dataOption(c.Body))
	}
	if c.Proxy != "" {
		add("-x", c.Proxy)
	}
	if c.Follow {
		words = append(words, "-L")
	}
	if c.MaxRedirects >= 0 {
		add("--max-redirs", strconv.Itoa(c.MaxRedirects))
	}
	if c.Timeout > 0 {
		add("-m", strconv.FormatFloat(c.Timeout.Seconds(), 'f', -1, 64))
	}
	return strings.Join(words, " ")
}

// Open opens a file that a command line names.
type Open func(name string) (io.ReadCloser, error)

// OpenFile opens a file of the system. A named pipe is an error: to open it waits for whoever writes to it.
func OpenFile(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a named pipe; name a file")}
	}
	return os.Open(name)
}

// MaxFile is how much of a file is read into memory, in bytes.
const MaxFile = 64 << 20

// read reads a file into memory.
func (o Open) read(option, name string) ([]byte, error) {
	if name == "-" {
		return nil, &Error{Option: option, Reason: "there is no standard input to read from; name a file"}
	}
	file, err := o(name)
	if err != nil {
		return nil, &Error{Option: option, Reason: "its file cannot be read", Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("it is larger than %d bytes", MaxFile)
	}
	if err != nil {
		return nil, &Error{Option: option, Reason: "its file cannot be read", Err: err}
	}
	return data, nil
}
