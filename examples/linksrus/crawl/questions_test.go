package crawl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// The programs of docs/guides/pipelines.md.

// scan is a payload of the guide.
type scan struct{ Picture, Text string }

// scans is a source of scans, and a sink that prints them.
type scans []string

func (s *scans) Next(context.Context) bool { return len(*s) > 0 }
func (s *scans) Error() error              { return nil }
func (s *scans) Payload() scan {
	picture := (*s)[0]
	*s = (*s)[1:]
	return scan{Picture: picture}
}

func (s *scans) Consume(_ context.Context, done scan) error {
	fmt.Printf("%s says %q\n", done.Picture, done.Text)
	return nil
}

// remote is a processor that sends the payload to another machine and returns the payload that it sends back.
func remote[T any](client *http.Client, url string) stage.Processor[T] {
	return stage.ProcessorFunc[T](func(ctx context.Context, payload T) (done T, err error) {
		body, err := json.Marshal(payload)
		if err != nil {
			return done, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return done, err
		}
		response, err := client.Do(request)
		if err != nil {
			return done, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return done, fmt.Errorf("%s: %s", url, response.Status)
		}
		return done, json.NewDecoder(response.Body).Decode(&done)
	})
}

func Example_remote() {
	busy := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy {
			busy = false
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		var s scan
		_ = json.NewDecoder(r.Body).Decode(&s)
		s.Text = "the text in " + s.Picture
		_ = json.NewEncoder(w).Encode(s)
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	recognize := stage.Retry(remote[scan](client, server.URL), stage.RetryPolicy{Backoff: time.Millisecond})
	pipeline := stage.New(stage.DynamicWorkerPool(recognize, 32))
	flow := &scans{"1.png"}
	err := pipeline.Process(context.Background(), flow, flow)
	fmt.Println(err)
	// Output:
	// 1.png says "the text in 1.png"
	// <nil>
}

// logged decorates a processor: errors are logged and returned unchanged.
func logged[T any](name string, p stage.Processor[T], log *slog.Logger) stage.Processor[T] {
	return stage.ProcessorFunc[T](func(ctx context.Context, payload T) (T, error) {
		out, err := p.Process(ctx, payload)
		if err != nil && !errors.Is(err, stage.ErrDrop) {
			log.ErrorContext(ctx, "stage failed", "stage", name, "payload", payload, "error", err)
		}
		return out, err
	})
}

func Example_logged() {
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: noTime}))
	blind := stage.ProcessorFunc[scan](func(context.Context, scan) (scan, error) { return scan{}, errors.New("out of ink") })
	flow := &scans{"1.png"}
	err := stage.New(stage.FIFO(logged("read", blind, log))).Process(context.Background(), flow, flow)
	fmt.Println(err)
	// Output:
	// level=ERROR msg="stage failed" stage=read payload="{Picture:1.png Text:}" error="out of ink"
	// stage 0: out of ink
}

// letter is a payload that could not be processed, with the reason.
type letter[T any] struct {
	Payload T
	Why     error
}

// deadLetters decorates a processor: payloads that fail go to a queue, and the pipeline goes on. It waits while the
// queue is full: no letter is lost, but a receiver that is slow or gone holds up the pipeline.
func deadLetters[T any](p stage.Processor[T], queue chan<- letter[T]) stage.Processor[T] {
	return stage.ProcessorFunc[T](func(ctx context.Context, payload T) (T, error) {
		out, err := p.Process(ctx, payload)
		if err == nil || errors.Is(err, stage.ErrDrop) || ctx.Err() != nil {
			return out, err
		}
		select {
		case queue <- letter[T]{payload, err}:
			return out, fmt.Errorf("%w: %w", stage.ErrDrop, err)
		case <-ctx.Done():
			return out, err
		}
	})
}

func Example_deadLetters() {
	read := stage.ProcessorFunc[scan](func(_ context.Context, s scan) (scan, error) {
		if !strings.HasSuffix(s.Picture, ".png") {
			return s, errors.New("no picture")
		}
		s.Text = "fine"
		return s, nil
	})
	queue := make(chan letter[scan], 10)
	flow := &scans{"1.png", "2.txt", "3.png"}
	err := stage.New(stage.FIFO(deadLetters(read, queue))).Process(context.Background(), flow, flow)
	close(queue)
	fmt.Println(err)
	for dead := range queue {
		fmt.Println(dead.Payload.Picture, "is dead:", dead.Why)
	}
	// Output:
	// 1.png says "fine"
	// 3.png says "fine"
	// <nil>
	// 2.txt is dead: no picture
}

// A fixed pool starts its workers with the run, a dynamic one when there is work and all that it has are busy.
func TestPools(t *testing.T) {
	for name, c := range map[string]struct {
		pool    func(stage.Processor[scan]) stage.Runner[scan]
		workers int
	}{
		"fixed":   {func(p stage.Processor[scan]) stage.Runner[scan] { return stage.FixedWorkerPool(p, 3) }, 3},
		"dynamic": {func(p stage.Processor[scan]) stage.Runner[scan] { return stage.DynamicWorkerPool(p, 5) }, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := stage.ProcessorFunc[scan](func(_ context.Context, s scan) (scan, error) {
				<-time.After(time.Second)
				return s, nil
			})
			flow := make(scans, 15)
			start := time.Now()
			if err := stage.New(c.pool(slow)).Process(t.Context(), &flow, nothing{}); err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), time.Duration(15/c.workers)*time.Second; got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		})
	}
}

// nothing is a sink that keeps nothing.
type nothing struct{}

func (nothing) Consume(context.Context, scan) error { return nil }

// timed is a payload that reports how long it was in the pipeline, however it left.
type timed struct {
	scan
	entered time.Time
	report  func(time.Duration)
}

func (t *timed) MarkAsProcessed() { t.report(time.Since(t.entered)) }

func TestTimeInPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		source := &timedSource{left: 3, report: func(d time.Duration) { times = append(times, d) }}
		slow := stage.ProcessorFunc[*timed](func(_ context.Context, p *timed) (*timed, error) {
			<-time.After(time.Second)
			return p, nil
		})
		if err := stage.New(stage.FIFO(slow)).Process(t.Context(), source, source); err != nil {
			t.Fatal(err)
		}
		// Each has left the source when the one before began, so the later ones waited.
		if got, want := fmt.Sprint(times), "[1s 2s 2s]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

type timedSource struct {
	left   int
	report func(time.Duration)
}

func (s *timedSource) Next(context.Context) bool { s.left--; return s.left >= 0 }
func (s *timedSource) Error() error              { return nil }

func (s *timedSource) Payload() *timed { return &timed{entered: time.Now(), report: s.report} }

func (s *timedSource) Consume(context.Context, *timed) error { return nil }
