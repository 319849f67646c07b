package urlx_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// It fails if a URL that is printed has a password, also one that is mistyped, or if one without a password is changed.
func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/":                     "https://h/",
		"https://h/@user?m=a@b":          "https://h/@user?m=a@b",
		"/@user":                         "/@user",
		"mailto:a@b":                     "mailto:a@b",
		"https://user:SECRET@h/":         "https://user:xxxxx@h/",
		"https://SECRET@h/":              "https://xxxxx@h/",
		"//user:SECRET@h/":               "//user:xxxxx@h/",
		"http:/user:SECRET@h/":           "…@h/",
		"http:///user:SECRET@h/":         "http://…@h/",
		"http:user:SECRET@h/":            "…@h/",
		`http:\\user:SECRET@h/`:          "…@h/",
		"htp:/user:SECRET@h/":            "…@h/",
		"user:SECRET@h/":                 "…@h/",
		"https://user:SEC%RET@h/":        "https://…@h/",
		"https://user:SECRET@h:port/":    "https://…@h:port/",
		"https://user:SEC/RET@h/":        "https://…@h/",
		"https://user:SECRET@h/ \x00\n/": "https://…@h/ \x00\n/",
	} {
		if got := urlx.Redact(raw); got != want || strings.Contains(got, "SECRET") {
			t.Errorf("%q: %q, wanted %q", raw, got, want)
		}
	}
}
