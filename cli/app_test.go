package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// nowhere answers every request without a network.
var nowhere = tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
	return tegenaria.NewResponse(r, 200, nil, []byte("page")), nil
})

// titles sends an item for each page, and the next page of as many as there are.
func titles(name string, pages int) tegenaria.SpiderInterface {
	return tegenaria.NewSpider(name, tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		if n := resp.Request().Depth + 1; n < pages {
			if err := out.Follow(fmt.Sprintf("/%d", n)); err != nil {
				return err
			}
		}
		return out.Item(resp.Request().Url)
	}), "http://shop.example/0")
}

// offline makes a program whose engines have no network.
func offline(spiders ...tegenaria.SpiderInterface) *cli.App {
	app := cli.New(spiders...)
	app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(nowhere)}, nil
	})
	return app
}

// noSettings returns a settings file without any, in a folder of its own: what is kept of runs lies beside it.
func noSettings(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tegenaria.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a command in an empty directory.
func run(t *testing.T, app *cli.App, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, err bytes.Buffer
	code = app.Run(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// It fails if --stop-if is not asked while the crawl runs, does not stop it, or leaves another code.
func TestStopIf(t *testing.T) {
	app := offline(titles("endless", 1<<30))
	app.AskEvery(time.Millisecond)
	code, _, stderr := run(t, app, "crawl", "endless", "--quiet", "-O", "x.jsonl", "--stop-ok", "--stop-if", "responses > 5", "--result", "result.json")
	if code != 4 || !strings.Contains(stderr, "stopped: it holds that responses > 5") {
		t.Errorf("code %d: %s", code, stderr)
	}
	text, err := os.ReadFile("result.json")
	if err != nil || !strings.Contains(string(text), `"code": 4`) || !strings.Contains(string(text), `"responses > 5"`) {
		t.Errorf("%v: %s", err, text)
	}
}

// The options of an engine know the arguments that its spider was made of.
func TestArgsOfRun(t *testing.T) {
	type shopArgs struct {
		Category string `arg:"category" default:"all"`
		Browser  bool   `arg:"browser"`
	}
	app := offline(titles("plain", 1))
	app.Add(cli.Define("shop", "", func(shopArgs) (tegenaria.SpiderInterface, error) { return titles("shop", 1), nil }))
	var got any
	app.Engine(func(run *cli.Run) ([]tegenaria.EngineOption, error) {
		got = run.Args()
		return nil, nil
	})
	for _, test := range []struct {
		args string
		want any
	}{
		{"crawl shop --browser", shopArgs{"all", true}},
		{"crawl shop -a category=books", shopArgs{"books", false}},
		{"settings shop -a category=books", shopArgs{"books", false}},
		{"parse http://shop.example/0 --spider shop -a browser=true", shopArgs{"all", true}},
		{"crawl plain", nil},
		{"fetch http://shop.example/0", nil},
	} {
		got = "not asked"
		if code, _, stderr := run(t, app, strings.Fields(test.args)...); code != 0 || got != test.want {
			t.Errorf("%s: %v; code %d: %s", test.args, got, code, stderr)
		}
	}
}

// The end of the context of Run is the end of the crawl.
func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	app := offline(titles("endless", 1<<30))
	app.Engine(func(run *cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { cancel() }})}, nil
	})
	var out, stderr bytes.Buffer
	t.Chdir(t.TempDir())
	if code := app.Run(ctx, []string{"crawl", "endless", "--quiet"}, nil, &out, &stderr); code != 3 {
		t.Errorf("code %d: %s", code, stderr.String())
	}
}

// The log has the format, the level and the place that the flags say, and stdout has none of it.
func TestLog(t *testing.T) {
	code, out, stderr := run(t, offline(titles("shop", 2)), "crawl", "shop", "--log-format", "json", "--log-level", "debug")
	if code != 0 || !strings.Contains(stderr, `"level":"debug"`) || strings.Count(out, "\n") != 2 {
		t.Errorf("code %d\n%s\n%s", code, out, stderr)
	}
	code, _, stderr = run(t, offline(titles("shop", 2)), "crawl", "shop", "--log-file", "log")
	text, err := os.ReadFile("log")
	if code != 0 || stderr != "" || err != nil || !strings.Contains(string(text), "crawl begins") {
		t.Errorf("code %d, %v\n%s\n%s", code, err, stderr, text)
	}
}

// part is a Part that tells what is done with it.
type part struct {
	calls []string
	name  string
	fails error
}

func (p *part) Flags(flags *pflag.FlagSet) { flags.StringVar(&p.name, "name", "", "`NAME` of a part") }

func (p *part) Commands() []*cobra.Command {
	return []*cobra.Command{{Use: "greet", RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "hello")
		return err
	}}}
}

func (p *part) Start(_ context.Context, run *cli.Run) (func(context.Context) error, error) {
	p.calls = append(p.calls, "start "+p.name+" "+run.Spider().GetName()+" "+run.Job())
	run.Add(tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { s.Concurrency, s.ItemConcurrency = 1, 1 }))
	return func(ctx context.Context) error {
		s := run.Engine().Settings()
		p.calls = append(p.calls, fmt.Sprint("stop ", run.Engine().Stats().ItemScraped, s.Concurrency, s.ItemConcurrency, ctx.Err()))
		return p.fails
	}, nil
}

func (p *part) Endings() []cli.Ending {
	return []cli.Ending{{Suffix: ".count", Help: "how many items there are", Open: func(_ *cli.Run, out cli.Output) (tegenaria.EngineOption, error) {
		p.calls = append(p.calls, fmt.Sprintf("open %s %v", out.Path, out.Overwrite))
		return tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, s string) (string, error) { return s, nil })), nil
	}}}
}

// A part has its flags, commands and formats; it is started before the crawl, flags win over it, and it is stopped after it.
func TestPart(t *testing.T) {
	p := &part{}
	app := offline(titles("shop", 3))
	app.With(p)
	code, _, stderr := run(t, app, "crawl", "shop", "--quiet", "--name", "n", "-O", "x.count", "-s", "concurrency=7", "--job", "job")
	want := []string{"open x.count true", "start n shop job", "stop 3 7 1 <nil>"}
	if code != 0 || strings.Join(p.calls, "|") != strings.Join(want, "|") {
		t.Errorf("code %d, calls %q, not %q: %s", code, p.calls, want, stderr)
	}
	p.fails = errors.New("part failed")
	if code, _, stderr := run(t, app, "crawl", "shop", "--quiet"); code != 1 || !strings.Contains(stderr, "part failed") {
		t.Errorf("code %d: %s", code, stderr)
	}
	if code, out, _ := run(t, app, "greet"); code != 0 || out != "hello\n" {
		t.Errorf("code %d: %s", code, out)
	}
}

// Mistakes of the program are told with exit code 2, together.
func TestProgramMistakes(t *testing.T) {
	type args struct {
		A int    `arg:"Big"`
		B []int  `arg:"b" default:"1,x"`
		C func() `arg:"c"`
		D int    `arg:"b"`
		e int    `arg:"e"`
	}
	_ = args{}.e // the mistake that is tried; it is used here alone
	app := cli.New(nil, titles("shop", 1), titles("shop", 1))
	app.Add(cli.Define("", "", func(int) (tegenaria.SpiderInterface, error) { return nil, nil }))
	app.Add(cli.Define[args]("bad", "", nil))
	app.With(nil)
	code, _, stderr := run(t, app, "list")
	const want = `tegenaria: cli: a spider is nil
there are two spiders named "shop"
cli.Define(""): arguments are the fields of a struct, and int is none
"" is no name for a spider
cli.Define("bad"): field A: "Big" is no name for an argument: use lower case letters, digits, - and _
field B: its default: "x" is no whole number
field C: no text can be made a func()
field D: there are two arguments "b"
field e: it is not exported
the func that makes the spider is nil
App.With: part 1 is nil
`
	if code != 2 || stderr != want {
		t.Errorf("code %d:\n%s", code, stderr)
	}
}

// What comes from outside cannot steer the terminal.
func TestEscapes(t *testing.T) {
	app := offline(titles("red\x1b[31m", 1))
	if code, out, _ := run(t, app, "list"); code != 0 || out != `red\u001b[31m`+"\n" {
		t.Errorf("code %d: %q", code, out)
	}
	if code, _, stderr := run(t, app, "crawl", "\x1b[2J\u202e"); code != 2 || strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("code %d: %q", code, stderr)
	}
}

// A settings file that is hostile is refused, with exit code 2 and in little time.
func TestHostileSettings(t *testing.T) {
	for name, text := range map[string]string{
		"large":  strings.Repeat("# x\n", 100_000),
		"deep":   strings.Repeat("[", 60_000),
		"nested": strings.Repeat("{a: ", 10_000),
		"dashes": strings.Repeat("- ", 30_000),
		"keys":   strings.Repeat("a: ", 20_000),
		"steep":  steep(300),
		"empty":  "a: |\n" + strings.Repeat("\n", 65_000),
		"blank":  "a: >\n  x\n" + strings.Repeat(" \r", 32_000),
		"binary": "\x00\xff\xfe\x01: \x02",
		"alias":  "a: &a [x,x]\nb: &b [*a,*a]\nallowed_domains: [*b,*b]\n",
		"list":   "- a\n- b\n",
		"text":   "hello",
		"twice":  "grace: 1s\ngrace: 2s\n",
		"docs":   "grace: 1s\n---\ngrace: 2s\n",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "settings.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := run(t, offline(titles("shop", 1)), "settings", "--config", path)
		if code != 2 || stderr == "" || len(stderr) > 10_000 {
			t.Errorf("%s: code %d: %.200s", name, code, stderr)
		}
	}
}

// steep makes so many mappings that lie in each other.
func steep(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

// FuzzSettings: no settings file makes the command panic, and what is refused is wrong usage.
func FuzzSettings(f *testing.F) {
	f.Add("politeness: {delay: 1s}\nspiders: {shop: {grace: 2s, args: {a: b}}}\n")
	f.Add("allow_status_code: [404, 410]\nlimits:\n  depth: 3\n")
	f.Add("? [a]\n: b\n")
	app := offline(titles("shop", 1))
	f.Fuzz(func(t *testing.T, text string) {
		deep.Growth(t, deep.Stretched([]byte(text)), func(text []byte) {
			path := filepath.Join(t.TempDir(), "settings.yaml")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			app.Run(t.Context(), []string{"settings", "shop", "--config", path}, nil, io.Discard, io.Discard)
		})
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, stderr bytes.Buffer
		code := app.Run(t.Context(), []string{"settings", "shop", "--config", path}, nil, &out, &stderr)
		if code != 0 && code != 2 || (code == 2) != (stderr.Len() > 0) {
			t.Fatalf("code %d: %s", code, stderr.String())
		}
	})
}

func ExampleApp_Run() {
	type args struct {
		Category string `arg:"category" default:"all" help:"of the catalogue"`
	}
	app := cli.New()
	app.Add(cli.Define("shop", "prices of a shop", func(a args) (tegenaria.SpiderInterface, error) {
		return tegenaria.NewSpider("shop", nil, "https://shop.example/"+a.Category), nil
	}))
	code := app.Run(context.Background(), []string{"describe"}, os.Stdin, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	code = app.Run(context.Background(), []string{"crawl", "shop", "--categroy", "books"}, os.Stdin, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// shop                  prices of a shop
	//       category  text  of the catalogue (default all)
	// exit code 0
	// tegenaria: unknown flag: --categroy; did you mean "category"?; tegenaria crawl shop -h lists the flags
	// exit code 2
}
