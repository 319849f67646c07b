package cookbook

import (
	"context"
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// inChromium has Chromium render the pages that ask for it.
func inChromium(engine *tegenaria.SpiderEngine) error {
	chromium, err := browser.Open(browser.Options{})
	if err != nil {
		return err // it says what to install
	}
	engine.RegisterDownloader("browser", chromium)
	return nil
}

// scripted follows a link to a page that scripts make.
func scripted(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
	return out.Follow("/quotes/", tegenaria.RequestWithDownloader("browser"))
}

func TestInChromium(t *testing.T) {
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", tegenaria.Handle(scripted))))
	err := inChromium(engine)
	var missing *browser.NotInstalledError
	var root *browser.RootError
	if err != nil && !errors.As(err, &missing) && !errors.As(err, &root) {
		t.Error(err)
	}
}
