package spidertest_test

import (
	"context"
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
