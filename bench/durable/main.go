// Command durable measures what a durable cache costs: the benchmark spider with the memory cache and with the disk cache,
// in turns, each as a process of its own. The server's count and the generator's items judge.
//
//	go -C bench run ./durable -pages 10000 -rounds 3
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria/bench/site"
)

func main() {
	pages := flag.Int("pages", 10_000, "`pages` of the site")
	bytes := flag.Int("bytes", 20_000, "`bytes` of a page")
	rounds := flag.Int("rounds", 3, "`runs` of each cache")
	flag.Parse()
	if err := run(*pages, *bytes, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "durable:", err)
		os.Exit(1)
	}
}

// result is what the crawler prints.
type result struct {
	Pages     int     `json:"pages"`
	Items     int     `json:"items"`
	Seconds   float64 `json:"seconds"`
	CPUMicros float64 `json:"cpu_micros"`
	RSSMiB    float64 `json:"rss_mib"`
}

func run(pages, bytes, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "durable")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	crawler := filepath.Join(dir, "crawler")
	if out, err := exec.Command("go", "build", "-o", crawler, "./crawler").CombinedOutput(); err != nil {
		return fmt.Errorf("building the crawler: %w\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := site.New(pages, bytes)
	server := &http.Server{Handler: s}
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		<-serving
	}()
	url := "http://" + listener.Addr().String() + "/"

	cpu := make(map[string][]float64)
	fmt.Println("| cache | round | pages | repeats | items right | wall s | CPU µs/page | peak RSS MiB |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|")
	for round := range rounds {
		for _, cache := range []string{"memory", "disk"} {
			s.Reset()
			out := filepath.Join(dir, fmt.Sprint(cache, round, ".jsonl"))
			args := []string{"-url", url, "-out", out}
			if cache == "disk" {
				args = append(args, "-job", filepath.Join(dir, fmt.Sprint("job", round)))
			}
			r, err := crawl(crawler, args)
			if err != nil {
				return err
			}
			right, err := judge(out, pages)
			if err != nil {
				return err
			}
			served, repeats := s.Served()
			if served != pages || repeats != 0 {
				return fmt.Errorf("%s: %d of %d pages were served, %d repeats", cache, served, pages, repeats)
			}
			each := r.CPUMicros / float64(pages)
			cpu[cache] = append(cpu[cache], each)
			fmt.Printf("| %s | %d | %d | %d | %d | %.2f | %.0f | %.0f |\n", cache, round+1, served, repeats, right, r.Seconds, each, r.RSSMiB)
		}
	}
	memory, disk := median(cpu["memory"]), median(cpu["disk"])
	fmt.Printf("\nmedians: memory %.0f µs, disk %.0f µs of CPU a page: %.2f times\n", memory, disk, disk/memory)
	return nil
}

func crawl(program string, args []string) (r result, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// judge counts the items that are right. One that is wrong, missing or there twice is an error.
func judge(path string, pages int) (right int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	want := make(map[string]site.Item)
	for i := range pages {
		if site.HasItem(i) {
			it := site.ItemOf(i)
			want[it.SKU] = it
		}
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var it site.Item
		if err := json.Unmarshal(lines.Bytes(), &it); err != nil {
			return right, err
		}
		if !reflect.DeepEqual(it, want[it.SKU]) {
			return right, fmt.Errorf("%s: an item is wrong, or there twice: %+v", path, it)
		}
		delete(want, it.SKU)
		right++
	}
	if len(want) > 0 {
		return right, fmt.Errorf("%s: %d items are missing", path, len(want))
	}
	return right, lines.Err()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
