package selector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/jsontext"
)

// Words say where the value of a field is and how it becomes one. They are the keys of struct tags, for
// [Selection.Unmarshal], and of fields that are written as data, for [NewFields]. They are applied in this order:
//
//   - css or xpath: a query, relative to the node of the enclosing struct. An XPath expression that starts with a slash starts
//     there, too. Without a query it is that node itself.
//   - attr: takes this attribute of the node; html, "true": takes its markup. Without both its text is taken, with white space collapsed.
//   - path: reads the text as JSON and takes the value at this path, see [Selection.JSON].
//   - re: takes the match of a regular expression: its group extract, or else its first group, or else the whole match.
//   - conv: how the text becomes a value, see below.
//   - default: the text to use if nothing is found; required, "true": it is an error if nothing is found.
//   - key and value: for a map, two queries relative to each node that was found.
//
// A text that is only white space counts as not found: the next result is taken.
//
// # Conversions
//
// Without conv the type of the field says how its text is read: numbers as programs write them, truth values, times as without a
// layout, URLs and amounts of money as below. conv is a name, then commas and what the conversion takes; a part with a
// comma in it stands between single quotes. A locale is one such as "de", "en-IN" or "pt-BR".
//
//	int, float              "1.234,56", "1 234,56" and "1,234.56" are read; "1.234" may be two numbers, and is an error
//	int,de and float,de     as numbers are written in the locale
//	money                   the text names the currency: "51,77 €"
//	money,GBP money,EUR,de  in this currency, and the locale
//	time                    RFC 3339, ISO 8601, and the times of HTTP
//	time,2 January 2006,de  a layout of package time; then, in any order, a locale for the names in it and a zone for texts without one (default UTC)
//	time,relative           "3 hours ago", "yesterday", from the date of the page on; beside layouts, too
//	time,unix time,unixms   seconds and milliseconds since 1970
//	bool                    true, yes, on, 1 and their opposites
//	bool,in stock,sold out  the two words; the first is true
//	exists                  whether the query finds something
//	url                     absolute, by the base of the page
//	lower                   in lower case
//	split,;                 a list: the parts of the text between the separators
//
// Any other name is that of a conversion of your own, see [Converter] and [Conv].
type Words map[string]string

// allWords are the words in the order in which they work.
var allWords = []string{"css", "xpath", "attr", "html", "path", "re", "conv", "default", "required", "key", "value"}

// whereWords are those that say where a value is: one of them makes a field one of ours.
var whereWords = []string{"css", "xpath", "attr", "html", "path", "re", "conv"}

// place returns the first of whereWords as it is written, for messages.
func (w Words) place() string {
	for _, word := range whereWords {
		if text, ok := w[word]; ok {
			return word + " " + strconv.Quote(text)
		}
	}
	return ""
}

// rule is what words say, compiled. It does not change.
type rule struct {
	place    string // of the words, for messages
	query    *Query // nil: the node itself
	key      *rule  // of maps: where in a result the key is; nil: there is none
	value    *rule
	attr     string
	markup   bool
	path     string // "": none
	jsonPath string // as gjson reads it
	urls     bool   // its texts become URLs
	re       pattern
	reText   string
	conv     string
	args     []string
	split    string // separator; "": none
	fallback *string
	required bool
}

// compileRule compiles words, and returns all mistakes in them.
func compileRule(words Words) (r *rule, mistakes []error) {
	r = &rule{place: words.place()}
	wrong := func(err error) {
		if err != nil {
			mistakes = append(mistakes, err)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(allWords, word) {
			wrong(unknownWord(word))
		}
	}
	css, isCSS := words["css"]
	path, isXPath := words["xpath"]
	compile := compileInside
	switch {
	case isCSS && isXPath:
		wrong(errors.New("it has css and xpath; leave one out"))
	case isCSS:
		compile = Compile
		r.query = compileQuery(css, compile, wrong)
	case isXPath:
		r.query = compileQuery(path, compile, wrong)
	}
	key, isKey := words["key"]
	value, isValue := words["value"]
	switch {
	case isKey != isValue:
		wrong(errors.New("key and value belong together; one is missing"))
	case isKey && !isCSS && !isXPath:
		wrong(errors.New("key and value need css or xpath"))
	case isKey:
		r.key, r.value = &rule{query: compileQuery(key, compile, wrong)}, &rule{query: compileQuery(value, compile, wrong)}
	}
	r.attr = words["attr"]
	if attr, ok := words["attr"]; ok && !isAttrName(attr) {
		wrong(fmt.Errorf("attr %q is not the name of an attribute", attr))
	}
	if r.markup = isTrue("html", words, wrong); r.markup && r.attr != "" {
		wrong(errors.New("it has attr and html; leave one out"))
	}
	var ok bool
	if r.path, ok = words["path"]; ok {
		if r.path == "" {
			wrong(errors.New("an empty path; \"@this\" is the whole value"))
		} else if len(r.path) > maxQueryLen {
			wrong(fmt.Errorf("a path of %d bytes", len(r.path)))
		}
		r.jsonPath = jsontext.Path(r.path)
	}
	if ok && isKey {
		wrong(errors.New("it has key and path; leave one out"))
	}
	if r.reText, ok = words["re"]; ok {
		var err error
		if r.re, err = patterns.get(r.reText); err != nil {
			wrong(err)
		}
	}
	wrong(r.compileConv(words))
	r.urls = r.conv == "url"
	if r.required = isTrue("required", words, wrong); r.required {
		if _, ok := words["default"]; ok {
			wrong(errors.New("it has default and required; leave one out"))
		}
	}
	if text, ok := words["default"]; ok {
		r.fallback = &text
	}
	return r, mistakes
}

// compileConv takes the conversion apart: its name, and what is behind it.
func (r *rule) compileConv(words Words) error {
	text, ok := words["conv"]
	if !ok {
		return nil
	}
	name, rest, more := strings.Cut(text, ",")
	if r.conv = strings.TrimSpace(name); r.conv == "" {
		return errors.New("an empty conv")
	}
	if !more {
		return nil
	}
	if r.conv == "split" && !strings.HasPrefix(rest, "'") { // also "split,,"
		r.args = []string{rest}
		return nil
	}
	for {
		rest = strings.TrimLeft(rest, " ")
		arg := ""
		if strings.HasPrefix(rest, "'") {
			var ok bool
			if arg, rest, ok = cutQuoted(rest[1:]); !ok {
				return fmt.Errorf("conv %q: a quote is not closed", text)
			}
			if rest = strings.TrimLeft(rest, " "); rest != "" && rest[0] != ',' {
				return fmt.Errorf("conv %q: a comma is missing behind a quote", text)
			}
			r.args = append(r.args, arg)
			if rest == "" {
				return nil
			}
			rest = rest[1:]
			continue
		}
		arg, rest, more = strings.Cut(rest, ",")
		r.args = append(r.args, strings.TrimSpace(arg))
		if !more {
			return nil
		}
	}
}

// cutQuoted returns the text up to a single quote, two of which are one in it, and what is behind it.
func cutQuoted(text string) (quoted, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 == len(text) || text[i+1] != '\'' {
				return b.String(), text[i+1:], true
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

func isAttrName(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\r\n\f/>=\"'<")
}

// isTrue returns the truth value of a word.
func isTrue(word string, words Words, wrong func(error)) bool {
	text, ok := words[word]
	if !ok {
		return false
	}
	is, err := strconv.ParseBool(text)
	if err != nil {
		wrong(fmt.Errorf("%s %q is neither true nor false", word, text))
	}
	return is
}

// compileQuery compiles a query that is not empty.
func compileQuery(text string, compile func(string) (*Query, error), wrong func(error)) *Query {
	q, err := compile(text)
	wrong(err)
	return q
}

// inside are the expressions that start at the node of a struct.
var inside = &language[*Query]{compile: func(text string) (*Query, error) {
	e, err := xpath.Options{Inside: true}.Compile(text)
	if err != nil {
		return nil, err
	}
	return &Query{text: text, xpath: e}, nil
}}

func compileInside(expr string) (*Query, error) { return inside.get(expr) }

// unknownWord returns the error of a word that is none of allWords.
func unknownWord(word string) error {
	if near := nearest(word); near != "" {
		return fmt.Errorf("%q is not a word of a field; is %q meant?", word, near)
	}
	return fmt.Errorf("%q is not a word of a field; these are %s", word, strings.Join(allWords, ", "))
}

// nearest returns the word that another one is a slip of the keyboard away from: a letter more, less, another, or two
// that have changed places; in any case of letters. It is "" if there is none.
func nearest(word string) string {
	lower := strings.ToLower(word)
	if foreign[word] {
		return ""
	}
	for _, w := range allWords {
		if lower == w || len(w) > 2 && isNear(lower, w) {
			return w
		}
	}
	return ""
}

// foreign are keys of tags that other packages use, and that look like words of ours.
var foreign = setOf("csv xhtml html5 paths keys values")

func setOf(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

func isNear(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > 1 {
		return false
	}
	at := 0
	for at < len(b) && a[at] == b[at] {
		at++
	}
	if len(a) > len(b) {
		return a[at+1:] == b[at:]
	}
	if at == len(a) {
		return false
	}
	return a[at+1:] == b[at+1:] || at+1 < len(a) && a[at] == b[at+1] && a[at+1] == b[at] && a[at+2:] == b[at+2:]
}

// tag is a key of a struct tag with its value.
type tag struct{ key, value string }

// parseTag takes a struct tag apart, as package reflect does, but for that it returns what that passes over.
func parseTag(text string) (list []tag, err error) {
	for {
		if text = strings.TrimLeft(text, " "); text == "" {
			return list, nil
		}
		end := strings.IndexAny(text, ": \"")
		if end <= 0 || !strings.HasPrefix(text[end:], ":\"") {
			return list, fmt.Errorf("the tag %q is not written as key:\"value\"", text)
		}
		key := text[:end]
		value, err := strconv.QuotedPrefix(text[end+1:])
		if err != nil {
			return list, fmt.Errorf("the value of the tag %q is not a quoted text; is a backslash in it written twice?", key)
		}
		text = text[end+1+len(value):]
		plain, _ := strconv.Unquote(value)
		if slices.ContainsFunc(list, func(t tag) bool { return t.key == key }) {
			return list, fmt.Errorf("the tag has %s twice", key)
		}
		list = append(list, tag{key, plain})
	}
}

// wordsOf returns the words in a struct tag, nil if there are none of ours. Other packages have keys of their own, so
// of others only those are mistakes that are a slip of the keyboard away from a word.
func wordsOf(text string) (words Words, mistakes []error) {
	list, err := parseTag(text)
	if err != nil {
		for _, word := range allWords {
			if len(word) > 2 && strings.Contains(text, word) {
				return nil, []error{err}
			}
		}
		return nil, nil // not one of ours
	}
	for _, t := range list {
		switch {
		case slices.Contains(allWords, t.key):
			if words == nil {
				words = make(Words)
			}
			words[t.key] = t.value
		case nearest(t.key) != "":
			mistakes = append(mistakes, unknownWord(t.key))
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	if words != nil && words.place() == "" {
		return nil, []error{fmt.Errorf("it says nothing of where its value is: add one of %s", strings.Join(whereWords, ", "))}
	}
	return words, nil
}
