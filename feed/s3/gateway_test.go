package s3_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/s3"
)

var gatewayProgram = flag.String("versitygw", "", "path of the program versitygw, a server of S3; s3cmd reads what it has")

// gateway is a server of S3 that is not ours, with the bucket "books".
type gateway struct {
	t       *testing.T
	folder  string
	address string
	program *exec.Cmd
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, folder: t.TempDir(), address: l.Addr().String()}
	if err := errors.Join(l.Close(), os.MkdirAll(filepath.Join(g.folder, "data", "books"), 0o700), os.MkdirAll(filepath.Join(g.folder, "more"), 0o700)); err != nil {
		t.Fatal(err)
	}
	g.start()
	t.Cleanup(g.stop)
	return g
}

func (g *gateway) start() {
	g.t.Helper()
	g.program = exec.CommandContext(g.t.Context(), *gatewayProgram, "--port", g.address, "--quiet", "posix", "--sidecar", filepath.Join(g.folder, "more"), filepath.Join(g.folder, "data"))
	g.program.Env = []string{"ROOT_ACCESS_KEY=key", "ROOT_SECRET_KEY=" + secret}
	if err := g.program.Start(); err != nil {
		g.t.Fatal(err)
	}
	for range 100 {
		conn, err := net.Dial("tcp", g.address)
		if err == nil {
			conn.Close()
			return
		}
		timer := time.NewTimer(100 * time.Millisecond)
		<-timer.C
	}
	g.t.Fatal("versitygw does not listen")
}

// stop kills the server in the middle of whatever it does.
func (g *gateway) stop() {
	_ = g.program.Process.Kill()
	_ = g.program.Wait()
}

func (g *gateway) options() s3.Options {
	return s3.Options{Endpoint: "http://" + g.address, Bucket: "books", Key: "key", Secret: secret, PathStyle: true}
}

func (g *gateway) s3cmd(args ...string) string {
	g.t.Helper()
	args = append([]string{"--no-ssl", "--host=" + g.address, "--host-bucket=" + g.address + "/%(bucket)", "--access_key=key", "--secret_key=" + secret, "--no-progress", "--config=/dev/null"}, args...)
	out, err := exec.CommandContext(g.t.Context(), "s3cmd", args...).CombinedOutput()
	if err != nil {
		g.t.Fatalf("s3cmd %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// numbers reads the lines of all objects, as s3cmd gets them.
func (g *gateway) numbers() (list []int) {
	g.t.Helper()
	to := g.t.TempDir()
	g.s3cmd("get", "--recursive", "s3://books/crawl/", to)
	names, err := filepath.Glob(filepath.Join(to, "*.jsonl"))
	if err != nil {
		g.t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			g.t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil {
				g.t.Errorf("%s: %q", name, line)
			}
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// A server that others wrote takes what is sent, and says what it does not like.
func TestGateway(t *testing.T) {
	if *gatewayProgram == "" {
		t.Skip("it needs -versitygw")
	}
	g := newGateway(t)
	b, err := s3.New(g.options())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain.csv": "a,b\n", "empty": "", "dir/a b+c%2F=é.csv": "é", "large": strings.Repeat("x", 8<<20), "~!@$&'()*,;:": "marks",
	} {
		for range 2 {
			if err := b.Send(t.Context(), name, strings.NewReader(text), int64(len(text))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		to := filepath.Join(t.TempDir(), "object")
		g.s3cmd("get", "s3://books/"+name, to)
		if got, err := os.ReadFile(to); err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for says, change := range map[string]func(o *s3.Options){
		"create the bucket":                func(o *s3.Options) { o.Bucket = "none" },
		"check Options.Key, Secret, Token": func(o *s3.Options) { o.Secret = "wrong" },
		"the provided access key ID":       func(o *s3.Options) { o.Key = "wrong" }, // its own code
	} {
		o := g.options()
		change(&o)
		b, err := s3.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Send(t.Context(), "x", strings.NewReader("abc"), 3); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// The server is killed four times while a crawl delivers to it, and comes back. Each item is in one object.
func TestGatewayGoesAway(t *testing.T) {
	if *gatewayProgram == "" {
		t.Skip("it needs -versitygw")
	}
	const pages = 400
	g := newGateway(t)
	var served atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		for _, next := range []int{2*n + 1, 2*n + 2} {
			if next < pages {
				fmt.Fprintf(w, `<a href="/%d">next</a>`, next)
			}
		}
		if served.Add(1)%100 == 50 {
			g.stop()
			go func() {
				timer := time.NewTimer(1500 * time.Millisecond)
				<-timer.C
				g.start()
			}()
		}
	}))
	defer site.Close()
	o := g.options()
	o.Prefix = "crawl/"
	b, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cache, err := disk.Open(filepath.Join(folder, "job"))
	if err != nil {
		t.Fatal(err)
	}
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[int]) error {
		n, err := strconv.Atoi(strings.TrimPrefix(page.URL, site.URL+"/"))
		if err != nil {
			return err
		}
		return errors.Join(out.Item(n), out.FollowLinks())
	}
	err = tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("numbers", tegenaria.Handle(parse), site.URL+"/0")),
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(folder, "{part}.jsonl"), feed.Rotate(feed.Rotation{Items: 20}), feed.To(b, feed.Delivery{Bytes: 200}))),
		tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Delay: 5 * time.Millisecond}),
	).Run(t.Context(), "numbers")
	if err := errors.Join(err, cache.Close()); err != nil {
		t.Fatal(err)
	}
	list := g.numbers()
	for n := range max(pages, len(list)) {
		if n >= len(list) || list[n] != n {
			t.Fatalf("%d items; the first that is not as it should be is %d", len(list), n)
		}
	}
}
