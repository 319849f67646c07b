package tegenaria_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A Downloader that sends more results than it may hangs nothing of the engine; the first result counts where it
// is not Download itself that blocks.
func TestThirdResult(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
	}{{"timeout", 20 * time.Second}, {"no timeout", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				returned := false
				d := downloadFunc(func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
					answerTo(ctx)
					for range 10 {
						result <- ctx
					}
					returned = true
				})
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://a.test/", tegenaria.RequestWithTimeout(tt.timeout))
				}
				s.Parse = enginetest.Nothing
				e := enginetest.NewEngine(d, s, tegenaria.EngineWithGrace(4*time.Second), tegenaria.EngineWithLimits(tegenaria.Limits{Time: 30 * time.Second}))
				began := time.Now()
				err := enginetest.Run(t, e)
				var abandoned *tegenaria.AbandonedError
				if tt.timeout > 0 && (!errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageDownload] != 1) {
					t.Errorf("Run returned %v", err)
				}
				if took := time.Since(began); took > 40*time.Second {
					t.Errorf("it took %s", took)
				}
				synctest.Wait() // a goroutine that is left fails the bubble
				if !returned {
					t.Error("Download is blocked")
				}
			})
		})
	}
}

// A negative status is the failure of its request, wherever it comes from.
func TestNegativeStatus(t *testing.T) {
	for _, from := range []string{"Downloader", "ProcessRequest", "ProcessResponse", "Fetch", "robots.txt"} {
		t.Run(from, func(t *testing.T) {
			bad := func(ctx *tegenaria.Context) (*tegenaria.Response, error) { return &tegenaria.Response{Status: -7}, nil }
			w := onePage().Page("http://a.test/x", bad).Page("http://a.test/robots.txt", enginetest.Status(404))
			s := enginetest.NewSpider("http://a.test/")
			m := &enginetest.Hooks{}
			parsed := 0
			s.Parse = parserOf(func(*tegenaria.Context) error { parsed++; return nil })
			want, stage := 0, tegenaria.StageStatus
			switch from {
			case "Downloader":
				w.Page("http://a.test/", bad)
			case "ProcessRequest":
				m.Request = func(ctx *tegenaria.Context) error {
					ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: -7}}
					return nil
				}
			case "ProcessResponse":
				m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
					ctx.Response().Status = -7
					return nil
				}
			case "Fetch":
				want, stage = 1, tegenaria.StageParse
				s.Parse = parserOf(func(ctx *tegenaria.Context) error { parsed++; _, err := get(ctx, "http://a.test/x"); return err })
			case "robots.txt":
				stage = tegenaria.StageRobots
				w.Page("http://a.test/robots.txt", bad)
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
			var unexpected *tegenaria.UnexpectedStatusError
			herr := s.OnlyError(t)
			if !errors.As(herr, &unexpected) || unexpected.Status != -7 || herr.Stage != stage || !strings.Contains(herr.Error(), "status -7") {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if parsed != want {
				t.Errorf("parsed %d pages", parsed)
			}
		})
	}
}

// A middleware may take a response's Header or Buffer away, or put another one in its place: whoever comes next
// finds a complete one.
func TestResponseOfAMiddlewareIsCompleted(t *testing.T) {
	for name, spoil := range map[string]func(ctx *tegenaria.Context){
		"nil Header":       func(ctx *tegenaria.Context) { ctx.Response().Header = nil },
		"nil Buffer":       func(ctx *tegenaria.Context) { ctx.Response().Buffer = nil },
		"another Response": func(ctx *tegenaria.Context) { ctx.DownloadResult.Response = &tegenaria.Response{Status: 200} },
		"another result": func(ctx *tegenaria.Context) {
			ctx.DownloadResult = &tegenaria.RequestResult{Response: &tegenaria.Response{Status: 200}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			look := func(ctx *tegenaria.Context) error {
				seen++
				resp := ctx.Response()
				resp.Header["X"] = []string{"y"}
				if resp.Buffer == nil || resp.URL != "http://a.test/" || resp.Request() != ctx.Request || resp.Context() != ctx {
					t.Errorf("incomplete: %+v", resp)
				}
				resp.Buffer.WriteString("z")
				return nil
			}
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parserOf(look)
			// The response passes them from right to left.
			enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
				&enginetest.Hooks{Priority: 1, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }},
				&enginetest.Hooks{Priority: 2, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return look(ctx) }},
				&enginetest.Hooks{Priority: 3, Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { spoil(ctx); return nil }})))
			if seen != 2 || len(s.Errors()) != 0 {
				t.Errorf("seen %d times, errors %v", seen, s.Errors())
			}
		})
	}
}

// A server that switches protocols unasked, and then keeps the connection, costs one request and no time. Its
// body would be the bare connection, which no timeout ends.
//
// It fails if exchange.run takes every status for a response: then the run never ends.
func TestUnexpectedStatus(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const upgrade = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if r.URL.Path == "/good" {
						io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
						continue
					}
					io.WriteString(conn, upgrade)
					io.Copy(io.Discard, in) // until the other side has had enough
					return
				}
			})
		}
	})
	defer conns.Wait()
	defer listener.Close()
	base := "http://" + listener.Addr().String()
	s := enginetest.NewSpider(base+"/", base+"/good")
	s.Parse = enginetest.Nothing
	stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s))
	var unexpected *tegenaria.UnexpectedStatusError
	herr := s.OnlyError(t)
	if !errors.As(herr, &unexpected) || unexpected.Status != 101 || unexpected.URL != base+"/" || herr.Stage != tegenaria.StageDownload || herr.Response != nil {
		t.Errorf("ErrorHandler got %+v", herr)
	}
	if !strings.Contains(herr.Error(), "101") || !strings.Contains(herr.Error(), base) {
		t.Errorf("the error says %q", herr)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
}
