//go:build unix

package disk_test

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

var (
	// urls is how many URLs BenchmarkFrontier discovers.
	urls = flag.Int("urls", 200_000, "URLs of BenchmarkFrontier")
	// goOn makes BenchmarkFrontier the process that it kills.
	goOn = flag.String("go-on", "", "job that BenchmarkFrontier crawls until it is killed")
)

// The shape of the crawl that is measured.
const (
	scaleHosts      = 2_000
	linksPerPage    = 20
	duplicates      = 0.3
	pagesPerSettle  = 50
	vocabularyWords = 10_000
)

// urlMaker makes URLs of about 100 bytes: a host, a path of eight words, a number.
type urlMaker struct {
	words []string
	buf   []byte
}

func newURLMaker() *urlMaker {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &urlMaker{}
	for range vocabularyWords {
		word := make([]byte, 4+rng.IntN(7))
		for i := range word {
			// Letters as frequent as in English text, or nearly.
			word[i] = "eeeeetttaaaooiinnsshhrrdlcumwfgypbvk"[rng.IntN(36)]
		}
		m.words = append(m.words, string(word))
	}
	return m
}

func hostOf(i int) string { return fmt.Sprintf("www.host-%04d.example", i%scaleHosts) }

// record makes the record of URL number i.
func (m *urlMaker) record(i int) tegenaria.Record {
	rng := rand.New(rand.NewPCG(uint64(i), 3))
	host := hostOf(rng.IntN(scaleHosts))
	b := append(m.buf[:0], 0)
	b = append(append(append(b, "https://"...), host...), '/')
	for range 8 {
		b = append(append(b, m.words[rng.IntN(len(m.words))]...), '-')
	}
	b = strconv.AppendInt(b, int64(i), 10)
	m.buf = b
	var key tegenaria.Key
	for j := 0; j < 16; j += 8 {
		v := rng.Uint64()
		for k := range 8 {
			key[j+k] = byte(v >> (8 * k))
		}
	}
	return tegenaria.Record{Key: key, Slot: host, Depth: 3, Data: b}
}

// frontier drives a cache as a crawl does, without downloads.
type frontier struct {
	tb    testing.TB
	cache tegenaria.CacheInterface
	urls  *urlMaker
	rng   *rand.Rand
	next  int // number of the next URL
	host  int
	taken []tegenaria.Record
	pages int
}

func newFrontier(tb testing.TB, cache tegenaria.CacheInterface) *frontier {
	return &frontier{tb: tb, cache: cache, urls: newURLMaker(), rng: rand.New(rand.NewPCG(4, 5))}
}

func (f *frontier) begin() tegenaria.State {
	f.tb.Helper()
	state, err := f.cache.Begin(f.tb.Context(), tegenaria.Job{Spider: "scale", KeyVersion: 1})
	if err != nil {
		f.tb.Fatal(err)
	}
	return state
}

// accept discovers n links; some of them were found before.
func (f *frontier) accept(n int, duplicates float64) {
	f.tb.Helper()
	records := make([]tegenaria.Record, 0, n)
	for range n {
		i := f.next
		if f.next > 0 && f.rng.Float64() < duplicates {
			i = f.rng.IntN(f.next)
		} else {
			f.next++
		}
		rec := f.urls.record(i)
		rec.Data = append([]byte(nil), rec.Data...)
		if len(f.taken) > 0 {
			rec.Parent = f.taken[len(f.taken)-1].Key
		}
		records = append(records, rec)
	}
	if _, err := f.cache.Accept(f.tb.Context(), records); err != nil {
		f.tb.Fatal(err)
	}
}

// page takes a request from the next host that has one, and accepts its links.
func (f *frontier) page(links int) bool {
	f.tb.Helper()
	for range scaleHosts {
		f.host++
		records, _, err := f.cache.Next(f.tb.Context(), hostOf(f.host), 1)
		if err != nil {
			f.tb.Fatal(err)
		}
		if len(records) == 0 {
			continue
		}
		f.taken = append(f.taken, records...)
		if links > 0 {
			f.accept(links, duplicates)
		}
		f.pages++
		if len(f.taken) == pagesPerSettle {
			f.settle()
		}
		return true
	}
	return false
}

func (f *frontier) settle() {
	f.tb.Helper()
	var b tegenaria.Batch
	for _, rec := range f.taken {
		b.Settled = append(b.Settled, tegenaria.Settled{Record: rec, Outcome: tegenaria.Fetched, Status: 200, At: time.Now()})
	}
	if err := f.cache.Settle(f.tb.Context(), b); err != nil {
		f.tb.Fatal(err)
	}
	f.taken = f.taken[:0]
}

// usage is what the files of a directory take, as du counts it.
func usage(tb testing.TB, dir string) (total int64) {
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return total
}

// memory is what this process takes now (VmRSS), or has taken at most (VmHWM), in MiB, or 0 where that is not known.
func memory(which string) (mib float64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, err := fmt.Sscanf(line, which+": %f kB", &mib); n == 1 && err == nil {
			return mib / 1024
		}
	}
	return 0
}

// cpuTime is what this process has used of the processors.
func cpuTime(tb testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// resume opens a job, and returns how long it takes until the first request is there.
func (f *frontier) resume(dir string) time.Duration {
	f.tb.Helper()
	opened := time.Now()
	f.cache = open(f.tb, dir)
	f.begin()
	for s, err := range f.cache.Slots(f.tb.Context()) {
		if err != nil || s.Pending <= 0 {
			f.tb.Fatal(s, err)
		}
	}
	if !f.page(0) {
		f.tb.Fatal("nothing waits")
	}
	return time.Since(opened)
}

func (f *frontier) close() {
	f.tb.Helper()
	f.settle()
	if err := f.cache.Close(); err != nil {
		f.tb.Fatal(err)
	}
}

// kill lets another process crawl the job for a while, and kills it in the middle of that.
func (f *frontier) kill(dir string, pages int) {
	f.tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkFrontier$", "-go-on", dir, "-urls", strconv.Itoa(f.next))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.tb.Fatal(err)
	}
	crawled, lines := 0, bufio.NewScanner(out)
	for crawled < pages && lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "crawled %d", &crawled)
	}
	if err := cmd.Process.Kill(); err != nil {
		f.tb.Fatal(err)
	}
	_ = cmd.Wait() // it says that it was killed
	if crawled < pages {
		f.tb.Fatalf("it crawled %d pages", crawled)
	}
}

// crawlOn is what is killed.
func (f *frontier) crawlOn(dir string) {
	f.next = *urls
	f.resume(dir)
	for f.page(linksPerPage) {
		if f.pages%100 == 0 {
			fmt.Println("crawled", f.pages)
		}
	}
}

// BenchmarkFrontier crawls until -urls are discovered: 2,000 hosts, 20 links a page of which 30 in 100 are known, a
// synced commit for 50 pages. It prints a table over time, and reports the pages a second of the last tenth, what a waiting
// URL takes on the disk, how long the first request takes after opening and after SIGKILL, and what a settled URL
// takes when the crawl has been ended; cpu-µs/page is that of all pages. The memory is that of this process.
func BenchmarkFrontier(b *testing.B) {
	if *goOn != "" {
		newFrontier(b, nil).crawlOn(*goOn)
		return
	}
	for b.Loop() {
		dir := b.TempDir()
		start, cpu := time.Now(), cpuTime(b)
		f := newFrontier(b, open(b, dir))
		f.begin()
		f.accept(scaleHosts, 0)
		last, lastPages := time.Now(), 0
		fmt.Printf("%12s %12s %10s %8s %8s\n", "discovered", "waiting", "pages/s", "MiB", "time")
		for step := 1; step <= 10; step++ {
			for f.next < *urls/10*step {
				f.page(linksPerPage)
			}
			rate := float64(f.pages-lastPages) / time.Since(last).Seconds()
			fmt.Printf("%12d %12d %10.0f %8.0f %8s\n", f.next, f.next-f.pages, rate, memory("VmRSS"), time.Since(start).Round(time.Second))
			last, lastPages = time.Now(), f.pages
			b.ReportMetric(rate, "pages/s")
		}
		f.settle()
		b.ReportMetric(float64(cpuTime(b).Microseconds()-cpu.Microseconds())/float64(f.pages), "cpu-µs/page")
		f.close()
		waiting := f.next - f.pages
		size := usage(b, dir)
		b.ReportMetric(float64(size)/float64(waiting), "bytes/waiting")

		b.ReportMetric(f.resume(dir).Seconds(), "s/open")
		f.close()
		f.kill(dir, *urls/1000)
		b.ReportMetric(f.resume(dir).Seconds(), "s/killed")
		for range *urls / 1000 { // while the Bloom filter is made again
			f.page(0)
		}
		fmt.Printf("%12s %12s %10s %8.0f %8s\n", "killed", "", "", memory("VmRSS"), time.Since(start).Round(time.Second))

		if *urls <= 1_000_000 {
			begun, pages := time.Now(), f.pages
			for f.page(0) {
			}
			fmt.Printf("%12s %12d %10.0f %8.0f %8s\n", "settled", 0, float64(f.pages-pages)/time.Since(begun).Seconds(), memory("VmRSS"), time.Since(start).Round(time.Second))
			f.close()
			b.ReportMetric(float64(usage(b, dir))/float64(f.next), "bytes/settled")
		} else {
			f.close()
		}
		b.ReportMetric(memory("VmHWM"), "MiB/peak")
	}
}
