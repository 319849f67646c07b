//go:build unix

// Package job is what the contestants of the race have in common: their flags, the file of items for those without an
// exporter of their own, and what only the process itself can measure. It depends on nothing but the standard library,
// so it weighs the same for all.
package job

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"

	"github.com/tegenaria/tegenaria/bench/site"
)

// Job is what a contestant has to do: fetch the start page and each page of the same host that is linked, once, and
// write the item of each product page as a line of JSON.
type Job struct {
	URL         string // of the start page
	Out         string // file for the items
	Concurrency int    // requests in flight
	AnyHost     bool   // follow links to other hosts too
	Dir         string // where a durable contestant keeps its state
	CA          string // file with the certificate to trust, PEM; "": the system's

	stats, cpuProfile, memProfile string
}

// Stats is what a contestant writes at its end, and on SIGUSR1 after a garbage collection.
type Stats struct {
	Mallocs    uint64  `json:"mallocs"`    // objects allocated since the start
	Allocated  uint64  `json:"allocated"`  // their bytes
	Live       uint64  `json:"live"`       // bytes of the heap's objects and of the stacks
	Goroutines int     `json:"goroutines"` //
	Seconds    float64 `json:"seconds"`    // set by contestants that clock themselves
}

// Main runs a contestant and exits with its result.
func Main(run func(Job) error) {
	Timed(func(j Job) (float64, error) { return 0, run(j) })
}

// Timed is Main for a contestant that says itself how many seconds it took.
func Timed(run func(Job) (float64, error)) {
	var j Job
	flag.StringVar(&j.URL, "url", "", "`URL` of the start page")
	flag.StringVar(&j.Out, "out", "", "`file` for the items")
	flag.IntVar(&j.Concurrency, "c", 16, "`requests` in flight")
	flag.BoolVar(&j.AnyHost, "anyhost", false, "follow links to other hosts")
	flag.StringVar(&j.Dir, "dir", "", "`directory` for what has to outlive the process")
	flag.StringVar(&j.CA, "ca", "", "`file` with a certificate to trust")
	flag.StringVar(&j.stats, "stats", "", "`file` for the allocator's figures")
	flag.StringVar(&j.cpuProfile, "cpuprofile", "", "`file` for a CPU profile")
	flag.StringVar(&j.memProfile, "memprofile", "", "`file` for a profile of allocations")
	flag.Parse()
	if err := j.run(run); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func (j Job) run(run func(Job) (float64, error)) (err error) {
	if j.cpuProfile != "" {
		f, err := os.Create(j.cpuProfile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if j.memProfile != "" {
		defer func() { err = errors.Join(err, writeAllocations(j.memProfile)) }()
	}
	if j.stats != "" {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGUSR1)
		var watching sync.WaitGroup
		watching.Go(func() {
			for range asked {
				runtime.GC()
				if err := j.tell(0); err != nil {
					fmt.Fprintln(os.Stderr, err)
				}
			}
		})
		defer func() {
			signal.Stop(asked)
			close(asked)
			watching.Wait()
		}()
	}
	seconds, err := run(j)
	if err != nil || j.stats == "" {
		return err
	}
	return j.tell(seconds)
}

// writeAllocations writes a profile of all allocations so far.
func writeAllocations(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // the profile is as of the last collection
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// tell writes the figures. The file appears whole or not at all.
func (j Job) tell(seconds float64) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := json.Marshal(Stats{Mallocs: m.Mallocs, Allocated: m.TotalAlloc, Live: m.HeapAlloc + m.StackInuse, Goroutines: runtime.NumGoroutine(), Seconds: seconds})
	if err != nil {
		return err
	}
	if err := os.WriteFile(j.stats+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(j.stats+".new", j.stats)
}

// TLS is the configuration that trusts the job's certificate, nil without one.
func (j Job) TLS() (*tls.Config, error) {
	if j.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(j.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", j.CA)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// Transport is one that keeps enough connections, for contestants whose own does not.
func (j Job) Transport() (*http.Transport, error) {
	config, err := j.TLS()
	if err != nil {
		return nil, err
	}
	return &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: j.Concurrency}, nil
}

// WithoutFragment is a URL without its fragment, for contestants to whom a page with another fragment is another page.
func WithoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// Items is a file of items. Its methods may be called concurrently.
type Items struct {
	mu      sync.Mutex // guards the fields below
	file    io.Closer
	buffer  *bufio.Writer
	encoder *json.Encoder
	err     error
}

// Items creates the job's file of items.
func (j Job) Items() (*Items, error) {
	f, err := os.Create(j.Out)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	return &Items{file: f, buffer: w, encoder: json.NewEncoder(w)}, nil
}

// Add writes an item. Close returns its error.
func (i *Items) Add(it site.Item) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		i.err = i.encoder.Encode(it)
	}
}

// Close writes what is left and returns the first error.
func (i *Items) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return errors.Join(i.err, i.buffer.Flush(), i.file.Close())
}
