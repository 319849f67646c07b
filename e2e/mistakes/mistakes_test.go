// Package mistakes_test runs programs with mistakes that users make, and compares what each of them says, and its exit code, with
// testdata/mistakes.golden. Each program is a process of its own.
package mistakes_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

var (
	update  = flag.Bool("update", false, "write the golden file anew")
	program = flag.String("program", "", "be the program of this name, and nothing else")
	folder  = flag.String("folder", "", "where the program keeps its files")
)

// A mistake is a program with a mistake in it.
type mistake struct {
	name  string
	run   func(w *world) error
	names string // what the output must name: the thing that is wrong, or the remedy
}

// golden has what all programs say.
const golden = "testdata/mistakes.golden"

func all() []mistake {
	return slices.Concat(wiring(), stores(), urls(), requests(), parsers(), pipelines(), outputs(), endings())
}

// helpers are programs that others start.
func helpers() []mistake {
	list := []mistake{{"the job is opened", func(w *world) error { return durably(w, shop(w.site)) }, "is in use"}}
	for _, out := range sharedOutputs() {
		list = append(list, mistake{out.name + ", opened", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(out.make(w.dir)))
		}, "another process"})
	}
	return list
}

// TestMain runs the tests; or it is one of the programs.
func TestMain(m *testing.M) {
	if flag.Parse(); *program != "" {
		for _, p := range append(all(), helpers()...) {
			if p.name == *program {
				be(p)
			}
		}
		log.Fatalf("there is no program %q", *program)
	}
	os.Exit(m.Run())
}

// be is what the main of a user does, and ends the process.
func be(m mistake) {
	w := newWorld(*folder)
	if err := m.run(w); err != nil {
		log.Fatal(err)
	}
	os.Exit(0)
}

// secrets are in some of the programs, and must be in no output.
const (
	password = "s3cr3t-passw0rd"
	token    = "s3cr3t-t0ken"
)

// insiders are words that only those know who have read the code.
var insiders = regexp.MustCompile(strings.Join([]string{
	`(?i)committers?\b`, `\bsettler?\b`, `\bteller\b`, `\bledger\b`, `\bacceptor\b`, `\bfrontier\b`, `\bmill\b`, `\bgate\b`, `\bguard\b`, `\bemission\b`,
	`tegenaria: store: `, `\bwiring\b`, `configuration: .*configuration: `, `CommitKey`, `feed:/`, `feed:[A-Z.]`,
	`\*?(fetch|robotsgate|httpx|urlx|wire|guard|report|identity|slots|funcname|lifecycle|page|typecheck)\.[A-Z]\w*`,
	`internal/`, `goroutine \d+`, `runtime error: index`, `0x[0-9a-f]{6,}`, `%!`, `<nil>`,
}, "|"))

// TestMistakes fails if a program says something else than the golden file, ends silently with exit code 0, names no thing or
// remedy, uses a word of the insiders, or prints a secret.
func TestMistakes(t *testing.T) {
	programs := all()
	if len(programs) < 60 {
		t.Errorf("only %d programs", len(programs))
	}
	said := make([]string, len(programs))
	var wg sync.WaitGroup
	turns := make(chan struct{}, 3) // that run at once
	for i, p := range programs {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			text, err := run(t, p.name)
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			said[i] = text
		})
	}
	wg.Wait()
	names := make(map[string]bool)
	for i, p := range programs {
		if names[p.name] {
			t.Errorf("two programs are called %q", p.name)
		}
		names[p.name] = true
		check(t, p, said[i])
	}
	compare(t, programs, said)
}

// run runs a program, and returns its exit code and what it said, without what differs from run to run.
func run(t *testing.T, name string) (string, error) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-program", name, "-folder", dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("it did not end: %s", stderr.String())
	}
	return fmt.Sprintf("exit code %d\n%s%s", cmd.ProcessState.ExitCode(), steady(stdout.String(), dir), steady(stderr.String(), dir)), nil
}

var varying = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `), ""},
	{regexp.MustCompile(`no result within [\d.]+s`), "no result within SECONDS"},
	{regexp.MustCompile(`retry after [\d.]+s`), "retry after SECONDS"},
	{regexp.MustCompile(`time="[^"]*" `), ""},
	{regexp.MustCompile(`(127\.0\.0\.1|\[::1\]|localhost):\d{3,5}`), "$1:PORT"},
	{regexp.MustCompile(` (took|bytes)=("[^"]*"|\S+)`), ""},
	{regexp.MustCompile(`stack="([^\\"]*)(\\n[^"]*)?"`), `stack="$1 …"`},
	{regexp.MustCompile(`(?m)[^ "]*/(\w+\.go:)\d+`), "${1}N"},
	{regexp.MustCompile(`\.func\d+(\.\d+)*`), ".func"},
	{regexp.MustCompile(`on [\d.a-f:[\]]+:53\b`), "on DNS"},
	{regexp.MustCompile(`CtxId [0-9a-f-]+`), "CtxId ID"},
	{regexp.MustCompile(`process \d+`), "process N"},
	{regexp.MustCompile(`[+]0x[0-9a-f]+`), ""},
}

// steady replaces what differs from run to run.
func steady(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "DIR")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	return text
}

// check looks for what no program may do.
func check(t *testing.T, p mistake, said string) {
	code, text, _ := strings.Cut(said, "\n")
	if code == "exit code 0" && !strings.Contains(text, "level=warning") && !strings.Contains(text, "level=error") {
		t.Errorf("%s: it is silent:\n%s", p.name, said)
	}
	if !strings.Contains(text, p.names) || p.names == "" {
		t.Errorf("%s: it does not say %q:\n%s", p.name, p.names, text)
	}
	if word := insiders.FindString(strings.ReplaceAll(text, "trap guard", "")); word != "" { // a middleware is called so
		t.Errorf("%s: it says %q:\n%s", p.name, word, text)
	}
	for _, secret := range []string{password, token} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: it prints a secret:\n%s", p.name, text)
		}
	}
}

// compare compares what was said with the golden file.
func compare(t *testing.T, programs []mistake, said []string) {
	var got strings.Builder
	for i, p := range programs {
		fmt.Fprintf(&got, "== %s\n%s\n", p.name, said[i])
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(golden), []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.FromSlash(golden))
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for part := range strings.SplitSeq(string(text), "== ") {
		name, rest, _ := strings.Cut(part, "\n")
		want[name] = rest
	}
	for i, p := range programs {
		if want[p.name] != said[i]+"\n" {
			t.Errorf("%s says\n%s\nand should say\n%s\n(-update writes the golden file)", p.name, said[i], want[p.name])
		}
	}
	if len(want) != len(programs)+1 { // the first part is empty
		t.Errorf("%s has %d programs, and there are %d", golden, len(want)-1, len(programs))
	}
}

// crawl runs a spider as the programs of the guides do. The log says no more than what is wrong.
func crawl(spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) error {
	opts = append([]tegenaria.EngineOption{tegenaria.EngineWithQuiet(), tegenaria.EngineWithSpiders(spider)}, opts...)
	return tegenaria.NewSpiderEngine(opts...).Run(context.Background(), "shop")
}
