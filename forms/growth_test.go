package forms_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

// The direction of a field comes from the text of the element around it that has dir=auto, without the elements in that with a
// direction of their own (HTML standard, section 3.2.6.4).
func TestDirections(t *testing.T) {
	const hebrew = "\u05d0"
	for name, test := range map[string]struct{ page, want string }{
		"the text around":            {"<div dir=auto>" + hebrew + "<input name=a dirname=d></div>", "rtl"},
		"another direction inside":   {"<div dir=auto><b dir=ltr>x</b>" + hebrew + "<input name=a dirname=d></div>", "rtl"},
		"another automatic one":      {"<div dir=auto><b dir=auto>x</b>" + hebrew + "<input name=a dirname=d></div>", "rtl"},
		"no direction of its own":    {"<div dir=auto><b dir=x>x</b>" + hebrew + "<input name=a dirname=d></div>", "ltr"},
		"isolated text":              {"<div dir=auto><bdi>x</bdi>" + hebrew + "<input name=a dirname=d></div>", "rtl"},
		"script and textarea":        {"<div dir=auto><script>x</script><textarea>x</textarea>" + hebrew + "<input name=a dirname=d></div>", "rtl"},
		"no text":                    {"<div dir=rtl><div dir=auto>1<input name=a dirname=d></div></div>", "ltr"},
		"tens of thousands of texts": {strings.Repeat("<div dir=auto>1<input name=a dirname=d>", 60_000), "ltr"},
	} {
		t.Run(name, func(t *testing.T) {
			got := formOf(t, "<form>"+test.page+"</form>").Values()["d"]
			if len(got) != strings.Count(test.page, "dirname") || got[len(got)-1] != test.want {
				t.Errorf("%d directions, the last one of %q", len(got), got)
			}
		})
	}
}

// Buttons inside each other have the text of the innermost ones in common. It would take minutes to read it for each.
func TestButtonsInEachOther(t *testing.T) {
	f := formOf(t, "<form>"+strings.Repeat("<button name=a><table><tr><td>", 40_000)+strings.Repeat("x ", 1<<19)+"</form>")
	if err := f.Click("no such text"); err == nil || len(err.Error()) > 1<<16 {
		t.Errorf("%.100v", err)
	}
	f = formOf(t, "<form><button name=a><b>Send</b>\n it</button></form>")
	if err := f.Click("Send it"); err != nil {
		t.Error(err)
	}
}

// In XML a textarea may hold elements, of which its value has nothing (HTML standard, section 4.10.11).
func TestTextareasInEachOther(t *testing.T) {
	const n = 20_000
	page := "<html xmlns='http://www.w3.org/1999/xhtml'><form>" + strings.Repeat("<textarea name='a'>x", n) + strings.Repeat("y</textarea>", n) + "</form></html>"
	f, err := forms.Of(selector.Parse([]byte(page), selector.XML()).CSS("form").Nodes()[0], pageURL)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Values()["a"]; len(got) != n || got[0] != "xy" {
		t.Errorf("%d values, the first %.20q", len(got), got[0])
	}
}

// FuzzGrowth fails if a form of twice the size takes far more than twice the time to be read, filled in and sent.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{
		{"<div dir=auto><input name=a dirname=d>", "x"}, {"<button name=a><table><tr><td>", "x"}, {"<input type=radio name=a checked>", "<label for=a>b</label>"},
		{"<select name=s><option selected>x", "<optgroup>"}, {"<fieldset disabled><legend>", "<input name=b>"}, {"</form><form id=f>", "<input form=f name=a>"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			nodes := selector.Parse(append([]byte("<form>"), page...)).CSS("form").Nodes()
			if len(nodes) == 0 {
				return
			}
			form, err := forms.Of(nodes[0], pageURL)
			if err != nil {
				return
			}
			_, _, _, _ = form.Set("a", "b"), form.Check("a"), form.Choose("s", "x"), form.Click("nothing")
			form.Entries()
			_, _ = form.Submit()
		})
	})
}
