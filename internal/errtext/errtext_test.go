package errtext_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tegenaria/tegenaria/internal/errtext"
)

const page, redacted = "http://me:s3cret@a.test/x", "http://me:xxxxx@a.test/x"

func TestBeside(t *testing.T) {
	base := errors.New("no price")
	ours := errtext.Failed("reading the body", " of ", page, base)
	closed := errtext.New("output closed")
	for name, test := range map[string]struct {
		err                     error
		text, beside, elsewhere string
	}{
		"foreign":       {base, "no price", "no price", "no price"},
		"nil":           {nil, "<nil>", "<nil>", "<nil>"},
		"without a URL": {closed, "tegenaria: output closed", "output closed", "output closed"},
		"with a URL": {ours, "tegenaria: reading the body of " + redacted + ": no price", "reading the body: no price",
			"reading the body of " + redacted + ": no price"},
		"URL unknown": {errtext.Failed("reading", " of ", "", base), "tegenaria: reading: no price", "reading: no price", "reading: no price"},
		"of another": {errtext.Failed("closing", " of ", page, ours), "tegenaria: closing of " + redacted + ": reading the body of " + redacted + ": no price",
			"closing: reading the body: no price", "closing of " + redacted + ": reading the body of " + redacted + ": no price"},
		"wrapped": {fmt.Errorf("shop: %w; it stops", ours), "shop: tegenaria: reading the body of " + redacted + ": no price; it stops",
			"shop: reading the body: no price; it stops", "shop: reading the body of " + redacted + ": no price; it stops"},
		"joined": {errors.Join(closed, base, closed), "tegenaria: output closed\nno price\ntegenaria: output closed",
			"output closed\nno price\noutput closed", "output closed\nno price\noutput closed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(test.err); got != test.text {
				t.Errorf("the text is %q", got)
			}
			if got := errtext.Beside(test.err, redacted); got != test.beside {
				t.Errorf("beside the URL it is %q", got)
			}
			if got := errtext.Beside(test.err, "http://b.test/"); got != test.elsewhere {
				t.Errorf("beside another URL it is %q", got)
			}
		})
	}
	if !errors.Is(ours, base) {
		t.Error("the cause is not found")
	}
}
