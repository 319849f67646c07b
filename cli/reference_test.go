package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

var update = flag.Bool("update", false, "write docs/command.md")

// bookArgs are the arguments of the spider that docs/command.md shows.
type bookArgs struct {
	Category string `arg:"category" default:"all" help:"of the catalogue"`
}

// TestReference compares docs/command.md with the help of the commands, which it is made of. It fails if a command or a flag has no
// place there; -update writes it.
func TestReference(t *testing.T) {
	const path = "../docs/command.md"
	app := cli.New()
	app.Add(cli.Define("books", "books of a shop", func(bookArgs) (tegenaria.SpiderInterface, error) { return nil, nil }))
	help := func(command string) string {
		var out, stderr bytes.Buffer
		args := append(strings.Fields(command), "-h")
		if code := app.Run(t.Context(), args, nil, &out, &stderr); code != 0 {
			t.Fatalf("%s: code %d: %s", command, code, stderr.String())
		}
		return strings.TrimSpace(out.String())
	}
	var b strings.Builder
	b.WriteString("# The commands\n\nEvery program with [package cli](guides/command.md) has these commands; here it is one with a single spider, books. " +
		"This page is made of their help, by a test.\n\n" +
		"The command tegenaria has two things more, which other programs do without to stay small: `crawl URL --render never|auto|always` has " +
		"[Chromium make pages](guides/browser.md#render-only-what-needs-it), and its outputs may end in `.parquet` and `.db`, " +
		"a database of SQLite with the table `pages`. In the folder of a project it becomes the program of that project, which has neither.\n")
	var tell func(command string)
	tell = func(command string) {
		text := help(command)
		if command != "" {
			fmt.Fprintf(&b, "\n## %s\n", command)
		}
		fmt.Fprintf(&b, "\n```\n%s\n```\n", text)
		_, list, _ := strings.Cut(text, "\nAvailable Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; command != "completion" {
				tell(strings.TrimSpace(command + " " + name))
			}
		}
	}
	tell("")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() {
		t.Errorf("%s is not what the commands say: go test ./cli -run TestReference -update writes it", path)
	}
}
