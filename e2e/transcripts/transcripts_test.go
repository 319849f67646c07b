// Package transcripts_test compares the log of crawls that go well, are stopped, resumed, or fail in one way each, with
// testdata/*.golden: as it is on a terminal, as lines of text and as JSON, by logrus and by slog.
package transcripts_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A form is a way to write the log.
type form struct {
	name   string
	option func(out io.Writer) (tegenaria.EngineOption, error)
}

// forms are all ways. The first is what a user sees on a terminal, without colours.
func forms() []form {
	byLogrus := func(f logrus.Formatter) func(io.Writer) (tegenaria.EngineOption, error) {
		return func(out io.Writer) (tegenaria.EngineOption, error) {
			l := logrus.New()
			l.SetOutput(out)
			l.SetFormatter(f)
			return tegenaria.EngineWithLogger(l), nil
		}
	}
	untimed := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	return []form{
		{"terminal", onTerminal},
		{"logrus, text", byLogrus(&logrus.TextFormatter{DisableTimestamp: true})},
		{"logrus, JSON", byLogrus(&logrus.JSONFormatter{DisableTimestamp: true, DisableHTMLEscape: true})},
		{"slog, text", func(out io.Writer) (tegenaria.EngineOption, error) {
			return tegenaria.EngineWithSlog(slog.New(slog.NewTextHandler(out, untimed))), nil
		}},
		{"slog, JSON", func(out io.Writer) (tegenaria.EngineOption, error) {
			return tegenaria.EngineWithSlog(slog.New(slog.NewJSONHandler(out, untimed))), nil
		}},
	}
}

// onTerminal logs to a device, as a terminal is one, and writes what it is given to out.
func onTerminal(out io.Writer) (tegenaria.EngineOption, error) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	l := logrus.New()
	l.SetOutput(device)
	l.AddHook(screen{out, &logrus.TextFormatter{ForceColors: true}})
	return tegenaria.EngineWithLogger(l), nil
}

// screen is a hook that writes each line as a terminal shows it.
type screen struct {
	out    io.Writer
	format *logrus.TextFormatter
}

func (s screen) Levels() []logrus.Level { return logrus.AllLevels }

func (s screen) Fire(entry *logrus.Entry) error {
	line, err := s.format.Format(entry)
	if err != nil {
		return err
	}
	_, err = s.out.Write(line)
	return err
}

// lines is a buffer that goroutines share.
type lines struct {
	stopping chan struct{} // closed when the log says that the crawl is stopping

	mu   sync.Mutex // guards the fields below
	all  bytes.Buffer
	said bool // stopping is closed
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.said && bytes.Contains(p, []byte("stopping (")) {
		l.said = true
		close(l.stopping)
	}
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// A recording is what a crawl is given whose log is recorded.
type recording struct {
	log      tegenaria.EngineOption
	dir      string          // a folder of its own
	stopping <-chan struct{} // closed when the log says that the crawl is stopping
}

// record runs a crawl once for each form, and compares what was logged with the golden file of this name.
func record(t *testing.T, name string, names *strings.Replacer, crawl func(t *testing.T, r recording)) {
	t.Helper()
	var got strings.Builder
	for _, f := range forms() {
		out := lines{stopping: make(chan struct{})}
		log, err := f.option(&out)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		crawl(t, recording{log, dir, out.stopping})
		text := names.Replace(strings.ReplaceAll(out.String(), dir, "DIR"))
		check(t, text)
		text = steady(text)
		fmt.Fprintf(&got, "== %s\n%s\n", f.name, text)
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got.String() {
		t.Errorf("the log says\n%s\nand should say what is in %s (-update writes it):\n%s", got.String(), file, want)
	}
}

var varying = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\x1b\[\d*m`), ""},
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(`(\S)  +`), "$1  "}, // columns
	{regexp.MustCompile(`(WARN|INFO|ERRO|DEBU)\[-?\d+\]`), "$1[0000]"},
	{regexp.MustCompile(`(pages?, [\d,]+ items?) in [\d.]+(µs|ms|s)( \([\d.,]+ pages/min\))?`), "$1 in TIME"},
	{regexp.MustCompile(`peak memory [\d.,]+ [kMG]B`), "peak memory SIZE"},
	{regexp.MustCompile(`took(=|":)"?[\d.]+(µs|ms|s)"?`), "took${1}TIME"},
	{regexp.MustCompile(`"(seconds|memory)":[\d.e+-]+`), `"$1":N`},
	{regexp.MustCompile(`"duplicate":\d`), `"duplicate":N`},
	{regexp.MustCompile(`"version":"` + regexp.QuoteMeta(tegenaria.Version) + `"`), `"version":"VERSION"`},
	{regexp.MustCompile(`tegenaria ` + regexp.QuoteMeta(tegenaria.Version)), "tegenaria VERSION"},
	{regexp.MustCompile(`[^ "]*/(\w+\.go):\d+`), "DIR/$1:LINE"},
	{regexp.MustCompile(`, \d duplicate`), ", N duplicate"}, // one more if the run ended before it was stored that all seeds were sent
	{regexp.MustCompile(`/gone/\d`), "/gone/N"},             // which of them fails first
	{regexp.MustCompile(`lookup (\S+) on \S+:53`), "lookup $1 on DNS"},
	{regexp.MustCompile(`lookup (\S+): (\S+ )*no such host`), "lookup $1 on DNS: no such host"},
}

// Each field of a line of JSON stands in the list of the guide. It fails if one was added or renamed without it.
func TestGuideListsFields(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guides/logging.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, field := range jsonField.FindAllStringSubmatch(jsonObject.ReplaceAllString(line, "{}"), -1) {
				seen[field[1]] = true
			}
		}
	}
	for _, own := range []string{"level", "msg", "stack"} { // the guide describes the message and the stack in words
		delete(seen, own)
	}
	if !seen["pages"] || !seen["url"] {
		t.Errorf("the fields of the golden files are %v", seen)
	}
	for field := range seen {
		if !strings.Contains(string(guide), "`"+field+"`") {
			t.Errorf("docs/guides/logging.md does not list the field %s", field)
		}
	}
}

var (
	jsonField  = regexp.MustCompile(`[{,]"([a-z_]+)":`)
	jsonObject = regexp.MustCompile(`:\{[^{}]*\}`) // the value of a field
)

// steady replaces what differs from run to run.
func steady(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	return text
}

// wrong is what no line of the log has: wrong plurals, and words that only those know who have read the code.
var wrong = []*regexp.Regexp{
	regexp.MustCompile(`[^\d,.]1 (request|page|item|failure|host|time|cause|seed)s\b`),
	regexp.MustCompile(`(?i)\b(committer|settler|teller|ledger|acceptor|frontier|gate|guard|emission)\b`),
	regexp.MustCompile(`internal/|goroutine \d+|0x[0-9a-f]{6,}|%!|<nil>`),
	regexp.MustCompile(`\bstatus of status\b|: status: status\b`),
	regexp.MustCompile(`s3cr3t`),
}

// check fails for lines that are wrong, or said twice.
func check(t *testing.T, text string) {
	t.Helper()
	for _, w := range wrong {
		if found := w.FindString(text); found != "" {
			t.Errorf("the log says %q:\n%s", found, text)
		}
	}
	said := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(said)
	for i, line := range said[1:] {
		if line == said[i] && !strings.Contains(strings.ToLower(line), "info") { // the numbers of two runs may be equal
			t.Errorf("the log says twice: %s", line)
		}
	}
}
