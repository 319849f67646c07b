package stage_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria/stage"
)

type benchPayload struct{ marked int }

func (p *benchPayload) MarkAsProcessed() { p.marked++ }

// repeat is a source that gives the same payload n times, and a sink that takes everything.
type repeat struct {
	payload *benchPayload
	n       int
}

func (r *repeat) Next(context.Context) bool                          { r.n--; return r.n >= 0 }
func (r *repeat) Payload() *benchPayload                             { return r.payload }
func (r *repeat) Error() error                                       { return nil }
func (r *repeat) Consume(context.Context, *benchPayload) error       { return nil }
func same(_ context.Context, p *benchPayload) (*benchPayload, error) { return p, nil }

// BenchmarkPipeline reports the time of one payload for one hop: from one stage to the next.
func BenchmarkPipeline(b *testing.B) {
	nop := stage.ProcessorFunc[*benchPayload](same)
	for _, kind := range []struct {
		name string
		make func() stage.Runner[*benchPayload]
	}{
		{"fifo", func() stage.Runner[*benchPayload] { return stage.FIFO(nop) }},
		{"fixed-16", func() stage.Runner[*benchPayload] { return stage.FixedWorkerPool(nop, 16) }},
		{"dynamic-16", func() stage.Runner[*benchPayload] { return stage.DynamicWorkerPool(nop, 16) }},
	} {
		for _, stages := range []int{1, 3, 10} {
			b.Run(fmt.Sprintf("%s/stages=%d", kind.name, stages), func(b *testing.B) {
				var runners []stage.Runner[*benchPayload]
				for range stages {
					runners = append(runners, kind.make())
				}
				flow := &repeat{payload: new(benchPayload), n: b.N}
				p := stage.New(runners...)
				b.ReportAllocs()
				b.ResetTimer()
				if err := p.Process(b.Context(), flow, flow); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(stages+1), "ns/hop")
			})
		}
	}
}

// BenchmarkPull reports the time of one payload from where it waits to its end, with as many workers as processors.
func BenchmarkPull(b *testing.B) {
	payload := new(parcel)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	err := stage.Pull(b.Context(), runtime.GOMAXPROCS(0), func(context.Context) (*parcel, bool) {
		return payload, left.Add(-1) >= 0
	}, process(pass))
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBareChannels is the same flow without the package: goroutines that pass payloads on
// over channels without a buffer. It can not be cancelled.
func BenchmarkBareChannels(b *testing.B) {
	for _, stages := range []int{1, 3, 10} {
		b.Run(fmt.Sprintf("stages=%d", stages), func(b *testing.B) {
			payload := new(benchPayload)
			links := make([]chan *benchPayload, stages+1)
			for i := range links {
				links[i] = make(chan *benchPayload)
			}
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			wg.Go(func() {
				for range b.N {
					links[0] <- payload
				}
				close(links[0])
			})
			for i := range stages {
				wg.Go(func() {
					for p := range links[i] {
						links[i+1] <- p
					}
					close(links[i+1])
				})
			}
			for p := range links[stages] {
				p.MarkAsProcessed()
			}
			wg.Wait()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(stages+1), "ns/hop")
		})
	}
}
