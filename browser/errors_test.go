package browser_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/internal/errtext"
)

func TestErrorTexts(t *testing.T) {
	const page, redacted = "http://me:s3cret@a.test/x", "http://me:xxxxx@a.test/x"
	cause := errors.New("it is gone")
	for _, err := range []error{
		&browser.LostError{URL: page, Reason: "killed"},
		&browser.NavigationError{URL: page, Reason: "net::ERR_FAILED", Err: cause},
		&browser.NotReadyError{URL: page, Condition: "h1", Err: cause},
		&browser.ActionError{URL: page, Action: "Click", Number: 1, Selector: "a", Err: cause},
		&browser.ResultError{URL: page, Name: "price", Err: cause},
	} {
		if text := err.Error(); !strings.Contains(text, redacted) || strings.Contains(text, "s3cret") {
			t.Errorf("the text is %q", text)
		}
		if text := errtext.Beside(err, redacted); strings.Contains(text, "a.test") || strings.Contains(text, "  ") {
			t.Errorf("beside the URL it is %q", text)
		}
	}
}
