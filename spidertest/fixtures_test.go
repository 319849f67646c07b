package spidertest_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

func siteTitles() tegenaria.SpiderInterface {
	parser := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[map[string]string]) error {
		return out.Item(map[string]string{"title": resp.CSS("title").Text()})
	})
	return tegenaria.NewSpider("titles", parser, "https://site.example/")
}

// TestPages is the guide's. The fixture of another spider, testdata/fixtures/other, could not be run.
func TestPages(t *testing.T) {
	spidertest.Fixtures(t, siteTitles(), "testdata/fixtures")
}

var panics = flag.Bool("panics", false, "let the parser of TestFixturesPanic panic")

// It fails if a panic under Fixtures is told without the line of the user's code.
func TestFixturesPanic(t *testing.T) {
	if *panics {
		spider := tegenaria.NewSpider(siteTitles().GetName(), func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { panic("ouch") })
		spidertest.Fixtures(t, spider, "testdata/fixtures")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "-test.run", "^TestFixturesPanic$", "-panics").CombinedOutput()
	text := string(out)
	before, _, told := strings.Cut(text, "fixtures_test.go")
	if err == nil || !told || !strings.Contains(before, "panic: ouch") || strings.Contains(before, "spidertest/fixture.") {
		t.Errorf("%v: %s", err, text)
	}
}
