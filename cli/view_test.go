package cli_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// answering makes a program whose engines get this page everywhere, and no robots.txt.
func answering(body string, spiders ...tegenaria.SpiderInterface) *cli.App {
	app := cli.New(spiders...)
	app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			if strings.HasSuffix(r.Url, "/robots.txt") {
				return tegenaria.NewResponse(r, 404, nil, nil), nil
			}
			return tegenaria.NewResponse(r, 200, map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, []byte(body)), nil
		}))}, nil
	})
	return app
}

// The base and the policy come first in the head of the browser's tree: where nothing of the page can come before them.
func TestViewIsInert(t *testing.T) {
	const added = `<base href="http://shop.example/dir/"><meta http-equiv="Content-Security-Policy" content="script-src 'none'; object-src 'none'; frame-src 'none'; form-action 'none'">`
	for page, want := range map[string]string{
		`<script>x</script>`:                                added + `<script>x</script>`,
		`<!DOCTYPE html><html lang=de><head>`:               `<!DOCTYPE html>` + added + `<html lang=de><head>`,
		" <!-- a --> \n<!doctype html>x":                    " <!-- a --> \n<!doctype html>" + added + "x",
		`<!--><script>x</script>--><!doctype html>`:         added + `<!--><script>x</script>--><!doctype html>`,
		`<!--->--><!doctype html>`:                          added + `<!--->--><!doctype html>`,
		`<!-- --!><script>--><!doctype html>`:               added + `<!-- --!><script>--><!doctype html>`,
		`<!-- endless <!doctype html>`:                      added + `<!-- endless <!doctype html>`,
		`<!doctype`:                                         added + `<!doctype`,
		"\ufeff\ufeff<!doctype html>x":                      `<!doctype html>` + added + "x",
		`<?xml version="1.0"?><!DOCTYPE html PUBLIC "a>b">`: `<?xml version="1.0"?><!DOCTYPE html PUBLIC "a>` + added + `b">`,
	} {
		t.Setenv("TMPDIR", t.TempDir())
		code, out, stderr := run(t, answering(page), "view", "http://shop.example/dir/")
		if code != 0 {
			t.Errorf("%s: code %d: %s", page, code, stderr)
			continue
		}
		text, err := os.ReadFile(strings.TrimSpace(out))
		if err != nil || string(text) != "\ufeff"+want {
			t.Errorf("%s becomes\n%s, %v", page, text, err)
		}
	}
}

// What a page has in it cannot steer the terminal, in tables and in JSON.
func TestPagesAreEscaped(t *testing.T) {
	const evil = "a\x1b]0;x\a\u009b2J\u202eb"
	for _, args := range [][]string{{"parse", "http://shop.example/"}, {"parse", "http://shop.example/", "--json"}} {
		spider := tegenaria.NewSpider("s", tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[map[string]string]) error {
			return out.Item(map[string]string{"title" + evil: resp.CSS("title").Text()})
		}), "http://shop.example/")
		code, out, stderr := run(t, answering("<title>"+evil+"</title>", spider), args...)
		if code != 0 || strings.ContainsAny(out+stderr, "\x1b\a\u009b\u202e") || !strings.Contains(out, `\u009b`) {
			t.Errorf("%v: code %d: %q %q", args, code, out, stderr)
		}
	}
}
