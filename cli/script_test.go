package cli_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/middleware"
)

// The scripts run the commands app, plain, store, tegenaria and terminal as processes of their own: TestMain makes this
// test binary one of them.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"app":   func() { newApp(os.Getenv("SITE")).Main() },
		"plain": func() { cli.Main(quotes(os.Getenv("SITE"))) },
		"store": func() { store(os.Getenv("SITE")).Main() },
		// That of cmd/tegenaria, without its part.
		"tegenaria": func() { cli.Main() },
		"terminal":  onTerminal,
		"catalogue": func() { newCatalogue(os.Getenv("SITE"), os.Getenv("EDITION")).Main() },
	})
}

// TestScripts runs the scripts of testdata/script, offline, on the demo site.
func TestScripts(t *testing.T) {
	site, counted := demosite.MustStart(), demosite.MustStart() // the second one is that of one script
	t.Cleanup(func() {
		if err := errors.Join(site.Close(), counted.Close()); err != nil {
			t.Error(err)
		}
	})
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata/script",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Setup: func(env *testscript.Env) error {
				env.Setenv("SITE", site.URL())
				env.Setenv("COUNTED_SITE", counted.URL())
				env.Setenv("REPO", repo)
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"exits": exits,
				"asked": func(ts *testscript.TestScript, neg bool, args []string) { asked(ts, counted, neg, args) },
			},
		})
	})
}

// exits CODE COMMAND…: the command ends with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENTS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = string(rune('0' + exit.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, not %s\nstdout:\n%s\nstderr:\n%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// asked NUMBER: a site has got so many requests, robots.txt among them.
func asked(ts *testscript.TestScript, site *demosite.Site, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked NUMBER")
	}
	if n := len(site.Log()); strconv.Itoa(n) != args[0] {
		ts.Fatalf("the site has got %d requests, not %s", n, args[0])
	}
}

type quote struct {
	Text   string `json:"text"`
	Author string `json:"author"`
}

func parseQuotes(ctx context.Context, resp *tegenaria.Response, out *tegenaria.Output[quote]) error {
	if path := os.Getenv("READY"); path != "" {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
	}
	if path := os.Getenv("HANG"); path != "" {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	for _, q := range resp.CSS("div.quote").All() {
		if err := out.Item(quote{q.CSS("span.text::text").Text(), q.CSS("small.author::text").Text()}); err != nil {
			return err
		}
	}
	for _, href := range resp.CSS("li.next a").Attrs("href") {
		if err := out.Follow(href); err != nil {
			return err
		}
	}
	return nil
}

func quotes(site string) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("quotes", tegenaria.Handle(parseQuotes), site+"/quotes/")
}

type pageArgs struct {
	Page  int           `arg:"page" default:"1" help:"number of the page"`
	Delay time.Duration `arg:"pause" help:"of nothing"`
	Token string        `arg:"api-token"`
	Job   string        `arg:"job" help:"only by -a"`
	Fast  bool          `arg:"fast"`
}

// newApp is a program with a bit of all.
func newApp(site string) *cli.App {
	app := cli.New(quotes(site))
	app.Add(
		cli.Define("page", "one page of quotes", func(a pageArgs) (tegenaria.SpiderInterface, error) {
			if a.Page < 1 {
				return nil, errors.New("pages are counted from 1")
			}
			urls := []string{site + "/quotes/", site + "/quotes/page/2/", site + "/quotes/page/3/"}
			one := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[pageArgs]) error {
				return out.Item(a)
			}
			return tegenaria.NewSpider("page", tegenaria.Handle(one), urls[(a.Page-1)%len(urls)]), nil
		}),
		cli.Define("fails", "a parser that fails", func(struct{}) (tegenaria.SpiderInterface, error) {
			fails := func(context.Context, *tegenaria.Response, *tegenaria.Output[quote]) error {
				return context.DeadlineExceeded
			}
			return tegenaria.NewSpider("fails", tegenaria.Handle(fails), site+"/quotes/"), nil
		}),
		cli.Define("dead", "a page that is not there", func(struct{}) (tegenaria.SpiderInterface, error) {
			return tegenaria.NewSpider("dead", tegenaria.Handle(parseQuotes), site+"/no-such-page"), nil
		}),
	)
	app.Settings(func(s *tegenaria.Settings) { s.Politeness.PerSlot = 4 })
	app.Engine(func(run *cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{
			tegenaria.EngineWithMiddlewares(middleware.Standard()...),
			tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "asked", Internal: true, Request: func(*tegenaria.Context) error {
				if path := os.Getenv("ASKED"); path != "" {
					return os.WriteFile(path, nil, 0o600)
				}
				return nil
			}}),
			tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { s.Grace = 5 * time.Second }),
		}, nil
	})
	return app
}
