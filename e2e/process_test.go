package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// python is what the witnesses run in.
const python = "python3"

// programs is the folder that TestMain makes for what is built.
var programs string

// TestMain runs the tests, and fails them if one leaves a goroutine behind; or it is a child of one of them.
func TestMain(m *testing.M) {
	if flag.Parse(); *childSeed != "" {
		os.Exit(childMain())
	}
	if *soakChild != "" {
		os.Exit(soakMain())
	}
	if *fieldsChild != "" {
		os.Exit(fieldsMain())
	}
	var err error
	if programs, err = os.MkdirTemp("", "e2e"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(programs)
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var buildCommand = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "tegenaria")
	if out, err := exec.Command("go", "-C", "..", "build", "-o", program, "./cmd/tegenaria").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building tegenaria: %w\n%s", err, out)
	}
	return program, nil
})

// command returns the path of the command tegenaria.
func command(t *testing.T) string {
	t.Helper()
	program, err := buildCommand()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// result is what a process left behind.
type result struct {
	code           int
	stdout, stderr string
}

// wait waits for a process.
func wait(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), fmt.Sprint(cmd.Stdout), fmt.Sprint(cmd.Stderr)}
}

// start starts a process that the test ends if it does not end by itself.
func start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// fileServer is Python's, in a process of its own.
type fileServer struct {
	url string
	log *os.File
}

// serveFiles serves a folder on a free port of loopback until the test ends.
func serveFiles(t *testing.T, dir string) *fileServer {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", dir)
	cmd.Stderr = log // by the server itself, so that what was answered is in it
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no other end
		_ = cmd.Wait()
		log.Close()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n') // Serving HTTP on 127.0.0.1 port 40253 (http://127.0.0.1:40253/) ...
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("the file server did not start: %v\n%s", err, text)
	}
	_, line, _ = strings.Cut(line, "(")
	url, _, _ := strings.Cut(line, "/)")
	return &fileServer{url, log}
}

var logLine = regexp.MustCompile(`"([A-Z]+) (\S+) HTTP/1\.[01]" (\d+)`)

// take returns what the server was asked since the last call, as "GET /path 200".
func (s *fileServer) take(t *testing.T) (asked []string) {
	t.Helper()
	text, err := os.ReadFile(s.log.Name())
	if err == nil {
		err = s.log.Truncate(0)
	}
	if err == nil {
		_, err = s.log.Seek(0, io.SeekStart) // the server's offset too: it is the same open file
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range logLine.FindAllStringSubmatch(string(text), -1) {
		asked = append(asked, strings.Join(m[1:], " "))
	}
	return asked
}

// page is a line of tegenaria crawl URL and of the witness, which also has lines without FinalURL, of what was not fetched.
type page struct {
	URL      string `json:"url"`
	FinalURL string `json:"final_url"`
	Status   int    `json:"status"`
	Depth    int    `json:"depth"`
	Title    string `json:"title"`
	Words    int    `json:"words"`
	Links    int    `json:"links"`
}

// pages reads lines of JSON.
func pages(t *testing.T, text string) (all []page) {
	t.Helper()
	for line := range strings.Lines(text) {
		var p page
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, p)
	}
	return all
}

// stats is what the tests read of a summary.
type stats struct {
	Status, Reason string
	Stats          struct {
		Discovered, Settled, Pending, Delayed, Responses int64

		InFlight       int64 `json:"in_flight"`
		ItemScraped    int64 `json:"item_scraped"`
		RobotsRequests int64 `json:"robots_requests"`
		Outcomes       map[string]int64
	}
}

// summary reads the summary in a file of tegenaria crawl --result.
func summary(t *testing.T, path string) stats {
	t.Helper()
	var result struct{ Summary stats }
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil {
		t.Fatalf("summary: %v", err)
	}
	s := result.Summary
	if c := s.Stats; c.Discovered == 0 || c.Discovered != c.Settled+c.Pending+c.Delayed+c.InFlight {
		t.Errorf("the summary loses requests: %+v", c)
	}
	return s
}
