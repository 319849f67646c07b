package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/spidertest"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShow(t *testing.T) {
	var out bytes.Buffer
	if err := show(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"started, 1 waiting at 1 host, 0 delayed, 4 settled, 1 of them dead letter",
		"waiting", "failed (status), status 404: the site links to pages that do not exist", "found by GET", "requests that run again when the job is resumed: 1",
		"finished, 0 waiting at 0 hosts, 0 delayed, 11 settled, 1 of them dead letter", "failed (status)  404",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}

// The last page has no next one.
func TestParse(t *testing.T) {
	page := spidertest.HTML(`<div class="quote"><span class="text">Call me Ishmael</span> <small class="author">Melville</small></div>`)
	quotes, requests := spidertest.Parse[quote](t, tegenaria.Handle(parse), page, "https://demo.example/quotes/page/10/")
	if len(quotes) != 1 || quotes[0] != (quote{"Call me Ishmael", "Melville"}) {
		t.Errorf("quotes: %v", quotes)
	}
	if len(requests) != 1 || requests[0].Url != "https://demo.example/no-such-page" {
		t.Errorf("requests: %v", requests)
	}
}
