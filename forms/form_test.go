package forms_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

const pageURL = "https://site.example/dir/page?q=1"

func formOf(t testing.TB, page string) *forms.Form {
	t.Helper()
	form, err := forms.Of(selector.Parse([]byte(page)).CSS("form").Nodes()[0], pageURL)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// Each mistake names the control and what there is instead, changes nothing, and is told again by Submit.
func TestMistakes(t *testing.T) {
	const page = `<form id=f action=/x><input name=user value=u><input name=two value=1><input name=two value=2><input type=checkbox name=tag value=a><input type=checkbox name=tag value=b>
<input type=radio name=size value=s><input type=radio name=size value=l><select name=lang><option value=en>English<option value=fr disabled>French</select><input type=file name=doc>
<input type=number name=n><input name=off disabled><button name=go value=1>Go</button><button name=no disabled>No</button><input type=checkbox name=mixed value=a><input type=radio name=mixed value=b></form>`
	for _, c := range []struct {
		name string
		do   func(f *forms.Form) error
		has  string
	}{
		{"unknown name", func(f *forms.Form) error { return f.Set("usr", "x") }, `"usr": no control has this name; Add sends a field that the form lacks; there are: "user", "two", "tag", "size", "lang", "doc", "n", "off", "go", "no", "mixed"`},
		{"number of values", func(f *forms.Form) error { return f.Set("two", "x") }, "2 fields have this name, and 1 values"},
		{"no number", func(f *forms.Form) error { return f.Set("n", "x") }, "type number"},
		{"disabled", func(f *forms.Form) error { return f.Set("off", "x") }, "disabled"},
		{"text of a file", func(f *forms.Form) error { return f.Set("doc", "x") }, "use Upload"},
		{"text of a button", func(f *forms.Form) error { return f.Set("go", "x") }, "use Click"},
		{"unknown checkbox", func(f *forms.Form) error { return f.Check("tag", "c") }, `none has the value "c"; there are: "a", "b"`},
		{"check a text", func(f *forms.Form) error { return f.Check("user") }, "use Set"},
		{"which radio button", func(f *forms.Form) error { return f.Check("size") }, "say which one"},
		{"which of a mixed group", func(f *forms.Form) error { return f.Check("mixed") }, "say which one"},
		{"unknown option", func(f *forms.Form) error { return f.Choose("lang", "de") }, `no option is "de"; there are: "en"`},
		{"disabled option", func(f *forms.Form) error { return f.Choose("lang", "French") }, "disabled"},
		{"two options", func(f *forms.Form) error { return f.Choose("lang", "en", "en") }, "not several"},
		{"two radio buttons", func(f *forms.Form) error { return f.Set("size", "s", "l") }, "not several"},
		{"two files", func(f *forms.Form) error { return f.Upload("doc", forms.File{}, forms.File{}) }, "one file"},
		{"upload to a text", func(f *forms.Form) error { return f.Upload("user", forms.File{}) }, "not a file upload"},
		{"unknown button", func(f *forms.Form) error { return f.Click("Stop") }, `there are: "go", "no", "Go", "No"`},
		{"disabled button", func(f *forms.Form) error { return f.Click("no") }, "disabled"},
		{"nameless", func(f *forms.Form) error { return f.Add("", "x") }, "without a name"},
	} {
		f := formOf(t, page)
		before := f.Values().Encode()
		err := c.do(f)
		var wrong *forms.FormError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.has) || !strings.Contains(err.Error(), "form#f of https://site.example/dir/page?q=1") {
			t.Errorf("%s: %v, want %s", c.name, err, c.has)
		}
		if _, again := f.Submit(); again != err {
			t.Errorf("%s: Submit says %v", c.name, again)
		}
		if after := f.Values().Encode(); after != before {
			t.Errorf("%s: the form is now %s", c.name, after)
		}
	}
}

// Forms that cannot be sent.
func TestRefused(t *testing.T) {
	for page, has := range map[string]string{
		`<form method=dialog>`:                         "dialog",
		`<form method=post><button formmethod=dialog>`: "dialog",
		`<form action="javascript:send()">`:            "perhaps a script",
		`<form action=mailto:a@b>`:                     "only http and https",
		`<form action=http://[>`:                       "no URL",
		`<form action=data:,x method=post>`:            "only http and https",
		`<form action=/ method=post enctype=multipart/form-data><input type=file name=f>`: "",
	} {
		f := formOf(t, page)
		if has == "" {
			f.Upload("f", forms.FileAt(filepath.Join(t.TempDir(), "nothing")))
			has = "a file cannot be read"
		}
		_, err := f.Submit()
		var wrong *forms.FormError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %s", page, err, has)
		}
	}
	doc := selector.Parse([]byte(`<form id=a></form><form name=b></form><form action=/c></form><p>x`))
	_, err := forms.Of(doc.CSS("p").Nodes()[0], pageURL)
	if err == nil || !strings.Contains(err.Error(), `"form#a", "form[name=b]", "form[action=/c]"`) {
		t.Errorf("a paragraph: %v", err)
	}
	if _, err := forms.Of(html.Node{}, pageURL); err == nil {
		t.Error("no node is no form")
	}
}

// A control, and what stands in a form, lead to the form.
func TestFind(t *testing.T) {
	doc := selector.Parse([]byte(`<form id=a><p><b>x</b><input id=i></p></form><input id=o form=a><table><form id=t><tr><td><input id=m></td></tr></form></table><input id=n>`))
	for query, want := range map[string]string{"#a": "a", "b": "a", "#i": "a", "#o": "a", "#m": "t", "#n": ""} {
		if got := forms.Find(doc.CSS(query).Nodes()[0]).Attr("id"); got != want {
			t.Errorf("%s belongs to %q, want %q", query, got, want)
		}
	}
}

// A file is read in a stream, and not before the body is read; mime/multipart reads what was sent.
func TestMultipart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	content := strings.Repeat("line\r\n", 100_000)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	make := func(value string) *forms.Body {
		b, err := forms.Multipart(forms.Text("a\"\n", value), forms.Upload("f", forms.FileAt(path)), forms.Upload("g", forms.File{Name: "b.png", Data: []byte("PNG")}))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := make("1")
	if b.Type != make("1").Type || b.Type == make("2").Type {
		t.Error("the boundary does not depend on the entries, or on something else")
	}
	if _, inMemory := b.Bytes(); inMemory {
		t.Error("the file is in memory")
	}
	_, params, err := mime.ParseMediaType(b.Type)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be read again
		r := multipart.NewReader(b.Reader(), params["boundary"])
		for _, want := range []struct{ name, file, kind, content string }{{"a%22%0A", "", "", "1"}, {"f", "a.txt", "text/plain", content}, {"g", "b.png", "image/png", "PNG"}} {
			p, err := r.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(p)
			if err != nil || p.FormName() != want.name || p.FileName() != want.file || p.Header.Get("Content-Type") != want.kind || string(got) != want.content {
				t.Errorf("part %q %q %q of %d bytes, %v; want %q", p.FormName(), p.FileName(), p.Header, len(got), err, want.name)
			}
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Errorf("behind the last part: %v", err)
		}
	}
	// The boundary that content would have to contain changes with the content.
	known := strings.TrimPrefix(b.Type, "multipart/form-data; boundary=")
	if made := make("\r\n--" + known + "--\r\n"); strings.Contains(made.Type, known) {
		t.Error("content contains its boundary")
	}
}

func TestCSRF(t *testing.T) {
	for _, c := range []struct {
		page    string
		cookies map[string]string
		want    forms.CSRF
	}{
		{page: `<meta name=csrf-param content=authenticity_token><meta name=csrf-token content=t1>`, want: forms.CSRF{"t1", "X-CSRF-Token", "authenticity_token", `meta name="csrf-token"`}},
		{page: `<meta name=_csrf content=t2><meta name=_csrf_header content=X-MINE><meta name=_csrf_parameter content=_csrf>`, want: forms.CSRF{"t2", "X-MINE", "_csrf", `meta name="_csrf"`}},
		{page: `<template><meta name=csrf-token content=no></template><p>`, cookies: map[string]string{"XSRF-TOKEN": "a%3D%3D", "csrftoken": "no"}, want: forms.CSRF{"a==", "X-XSRF-TOKEN", "", `cookie "XSRF-TOKEN"`}},
		{cookies: map[string]string{"__Host-csrftoken": "d", "session": "s"}, want: forms.CSRF{"d", "X-CSRFToken", "", `cookie "__Host-csrftoken"`}},
		{page: `<meta name=csrf-token content="">`, cookies: map[string]string{"session": "s"}},
	} {
		doc := selector.Parse([]byte(c.page)).Root().Document()
		got := forms.FindCSRF(doc, c.cookies)
		if got != c.want {
			t.Errorf("%s %v: %+v, want %+v", c.page, c.cookies, got, c.want)
		}
		if headers := got.Headers(); len(headers) > 0 != (got.Token != "") || headers[got.Header] != got.Token {
			t.Errorf("headers %v", headers)
		}
	}
	if got := forms.FindCSRF(nil, nil); got != (forms.CSRF{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// Pages that are made to take long, or to have no meaning: each is read, filled in and sent in time that grows with its size.
func TestHostile(t *testing.T) {
	inputs := strings.Repeat("<input name=a value=b>", 100_000)
	for name, page := range map[string]string{
		"100,000 inputs":            "<form method=post>" + inputs,
		"100,000 names":             "<form>" + numbered(100_000, "<input name=n%d>"),
		"100,000 radio buttons":     "<form>" + strings.Repeat("<input type=radio name=a value=b checked>", 100_000),
		"two values of 50,000":      "<form>" + strings.Repeat("<input type=radio name=a value=x>", 50_000) + strings.Repeat("<input type=radio name=a value=b>", 50_000),
		"100,000 options":           "<form><select name=s>" + numbered(100_000, "<option>%d") + "</select>",
		"100,000 forms":             strings.Repeat("<form><input name=a></form>", 100_000),
		"10,000 levels":             "<form>" + strings.Repeat("<div>", 10_000) + inputs,
		"10,000 fieldsets":          "<form>" + strings.Repeat("<fieldset disabled><legend>", 10_000) + inputs,
		"nested templates":          "<form>" + strings.Repeat("<template>", 10_000) + inputs,
		"directions in the deep":    "<form>" + strings.Repeat("<div dir=auto>", 5_000) + strings.Repeat("<input name=a dirname=d>", 20_000),
		"controls in front of it":   strings.Repeat("<input form=f name=a>", 100_000) + "<form id=f>",
		"50 MB":                     "<form><textarea name=t>" + strings.Repeat("x\n", 25<<20) + "</textarea>",
		"one value of 20 MB":        "<form method=post enctype=multipart/form-data><input name=v value='" + strings.Repeat("\xff", 20<<20) + "'>",
		"binary":                    "<form>\x00\xff<input name=\x00 value=\xfe\x00><input name='\r\n'><select name=\xff><option>\x00",
		"numbers that do not fit":   "<form><select name=a size=99999999999999999999><option>1</select><input type=range name=b min=-1e308 max=1e308 step=1e-300 value=1e308><input type=week name=c value=999999-W01>",
		"steps that lead nowhere":   "<form><input type=range name=a min=1e300 max=1.5e300 step=1e299 value=1.2e300><input type=range name=b min=0 max=1 step=1e-308 value=.5>",
		"a form without an end tag": "<table><form id=f><tr><form><td><select><option><form>",
	} {
		begin := time.Now()
		f := formOf(t, page)
		for _, fill := range []func() error{ // most are mistakes in most forms
			func() error { return nil }, func() error { return f.Check("a", "b") }, func() error { return f.Uncheck("a") }, func() error { return f.Choose("a", "b") },
			func() error { return f.Choose("s", "99999") }, func() error { return f.Upload("a", forms.File{}) }, func() error { return f.Click("c") }, func() error { return f.Set("a", "x") },
		} {
			if err := fill(); err != nil {
				hostileError(t, name, err)
			}
		}
		if _, err := f.Submit(); err != nil {
			hostileError(t, name, err)
		}
		s, err := formOf(t, page).Submit()
		if err != nil {
			hostileError(t, name, err)
		} else if _, err := url.Parse(s.URL); err != nil {
			t.Errorf("%s: %.300v", name, err)
		}
		if took := time.Since(begin); deep.Checks() && took > 20*time.Second { // a square of these sizes takes minutes
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// hostileError checks that an error is one of the form, and not as large as the page.
func hostileError(t *testing.T, page string, err error) {
	t.Helper()
	var wrong *forms.FormError
	if !errors.As(err, &wrong) || len(err.Error()) > 10_000 || len(wrong.Exists) > 20 || !strings.Contains(err.Error(), pageURL) {
		t.Errorf("%s: %.300v", page, err)
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// The naughty strings, as names and as values, come through each encoding.
func TestNaughtyStrings(t *testing.T) {
	var naughty []string
	if err := json.Unmarshal(conformance.Read(t, "blns.json"), &naughty); err != nil {
		t.Fatal(err)
	}
	for _, enctype := range []string{"", "multipart/form-data"} {
		for _, text := range naughty {
			f := formOf(t, `<form method=post action=/x enctype="`+enctype+`"><textarea name=t></textarea>`)
			f.Set("t", text)
			if text != "" && (enctype == "" || !strings.ContainsFunc(text, unicode.IsControl)) { // which mime/multipart does not read in names
				f.Add(text, text)
			}
			s, err := f.Submit()
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			want := strings.ToValidUTF8(strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(text), "\ufffd")
			data, _ := s.Body.Bytes()
			var got []string
			if enctype == "" {
				values, err := url.ParseQuery(string(data))
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				got = append(slices.Clone(values["t"]), values[want]...)
				if want == "t" {
					got = values["t"]
				}
			} else {
				_, params, _ := mime.ParseMediaType(s.Body.Type)
				for r := multipart.NewReader(s.Body.Reader(), params["boundary"]); ; {
					p, err := r.NextPart()
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatalf("%q: %v", text, err)
					}
					value, err := io.ReadAll(p)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, string(value))
				}
			}
			for _, value := range got {
				if value != want {
					t.Errorf("%q: sent as %q", text, value)
				}
			}
			if len(got) == 0 {
				t.Errorf("%q: nothing was sent", text)
			}
		}
	}
}
