package forms_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/html"
)

// FuzzEntries checks what holds for any page: a form has what it sends, no entry of it is without a name, the
// urlencoded fields read back are the entries, and what is found by its names can be set.
func FuzzEntries(f *testing.F) {
	for _, controls := range []string{
		`<input name="*-._~!'()@:/?#[]$,;=+%" value="\^{|}&amp;"><input value=1><input name="" value=2><input type=hidden name=_charset_>`,
		`<input type=url name=a value=" http://x/ "><input type=email name=b multiple value=" a@b , c@d ,e "><input type=TEL name=c dirname=d dir=rtl>`,
		`<input type=number name=a value=1e999><input type=range name=b value=x min=0 max=1 step=0.1><input type=color name=c value=#12345>`,
		`<input type=date name=a value=2023-02-29><input type=week name=b value=2020-W53><input type=datetime-local name=c value=2024-02-29T12:00:15.500>`,
		`<form><input type=week name=a value=2020-><input type=month name=b value=2020-><input type=date name=c value=2020-><input type=time name=d value=20:>`,
		`<input type=checkbox name=a checked><input type=radio name=b value=1 checked><input type=radio name=b value=2 checked><input type=file name=c multiple>`,
		`<select name=a><optgroup disabled><option>1</optgroup><option selected disabled>2<option>3</select><select name=b multiple size=x><option selected>1</select>`,
		"<textarea name=a>\n\n x\r\ny\rz</textarea><input name='a&#10;b' value='x&#13;y'><input name=c list=l><datalist id=l><option>1<input name=d></datalist>",
		`<fieldset disabled><legend><input name=a></legend><legend><input name=b></legend><div><input name=c></div></fieldset><input name=d disabled>`,
		`<button type=button name=a></button><button name=b value=x formaction="?y#z" formmethod=post formenctype=text/plain>Send</button><input type=image name=i>`,
		`<table><tr><td><input name=a></form><input name=b></table><template><input name=c></template><form id=g></form><input name=d form=f>`,
	} {
		for _, form := range []string{`<form id=f action="/got?x=1#y">`, `<form id=f method=post>`, `<form id=f method=post enctype=multipart/form-data>`} {
			f.Add([]byte(form + controls))
		}
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		doc, err := html.Parse(page)
		if err != nil {
			return
		}
		for n := range doc.Root().Descendants() {
			if !n.Is(html.AtomForm) {
				continue
			}
			form, err := forms.Of(n, pageURL)
			if err != nil {
				t.Fatal(err)
			}
			entries := form.Entries()
			for _, e := range entries {
				if e.Name == "" {
					t.Fatalf("an entry without a name: %+v", e)
				}
			}
			s, err := form.Submit()
			if err != nil {
				continue
			}
			text := ""
			if s.Body == nil {
				_, text, _ = strings.Cut(strings.SplitN(s.URL, "#", 2)[0], "?")
			} else if s.Body.Type == "application/x-www-form-urlencoded" {
				data, _ := s.Body.Bytes()
				text = string(data)
			} else {
				continue
			}
			got, err := url.ParseQuery(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			number := 0
			for _, values := range got {
				number += len(values)
			}
			if number != len(entries) {
				t.Fatalf("%d entries are sent as %d pairs: %q", len(entries), number, text)
			}
			for _, name := range form.Names() {
				_ = form.Set(name, "1")
			}
		}
	})
}
