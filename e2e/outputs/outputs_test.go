//go:build unix

// Package outputs_test kills a crawl that delivers to every output at once.
package outputs_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

var (
	kills = flag.Int("kills", 0, "how often the job is killed at least; from 30 on also at each named point three times; 0: a job with file feeds alone, once at each named point")
	seed  = flag.Uint64("seed", 0, "of what is random; 0 takes 1, or another one each time with -deep")

	child = childJob() // of the process that is killed
)

// childJob reads the flags of the process that is killed.
func childJob() *job {
	j := new(job)
	flag.StringVar(&j.Folder, "child.folder", "", "folder of the job that TestKills runs in another process")
	flag.BoolVar(&j.Files, "child.files", false, "it has the feeds of files alone")
	flag.StringVar(&j.Site, "child.site", "", "the site that it crawls")
	flag.StringVar(&j.Bucket, "child.bucket", "", "the server of its bucket")
	flag.StringVar(&j.Database, "child.database", "", "the database that it writes to")
	flag.StringVar(&j.Point, "child.point", "", "where it kills itself")
	flag.Int64Var(&j.Nth, "child.nth", 0, "the how manieth time it comes there")
	return j
}

func TestMain(m *testing.M) { pgtest.Main(m) }

// random is the point of a kill by the server, in the middle of anything.
const random = "at random"

// ends are the points that are reached when all pages are read.
var ends = []string{"in Close", "before rename", "after rename"}

// filePoints are the points of a job with file feeds alone, in the order in which it is killed there.
var filePoints = []string{"after stage", "before Restore", "in append", "after Restore", "after sync", "after a file's commit", "after truncate",
	"before rename", "after rename", "in Close"}

// TestKills kills a job with file feeds at each named point, until it is done. With -kills it kills a job that has all
// outputs, at random and at named points, until it is done; then another one, until there were enough kills. Readers
// that are not ours find each item in each output once.
//
//	go test ./e2e/outputs -run TestKills -v -args -kills 100 -postgres /usr/lib/postgresql/15/bin
func TestKills(t *testing.T) {
	if child.Folder != "" {
		if err := child.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	if *seed == 0 {
		*seed = deep.Seed()
	}
	t.Logf("seed %d", *seed)
	k := &killer{T: t, left: slices.Clone(filePoints), random: rand.New(rand.NewPCG(*seed, 1)), at: make(map[string]int)}
	for k.lacks() {
		k.campaign()
	}
	t.Logf("%d kills in %d jobs: %v; by tenths of the pages %v", k.total, k.jobs, k.at, k.tenths)
}

// killer runs jobs and kills them.
type killer struct {
	*testing.T
	random *rand.Rand
	left   []string // named points of the short form where no kill was yet
	jobs   int
	total  int
	at     map[string]int // kills by point
	tenths [10]int        // kills by how many of the pages had been asked for

	loop  atomic.Pointer[killtest.Loop] // of this job
	seen  atomic.Pointer[sync.Map]      // the pages that were asked for
	pages atomic.Int64                  // how many these are
}

// points returns the named points of this job.
func (k *killer) points() []string {
	list := append(slices.Clone(filePoints), "after sqlite's commit", "after parquet's spool", "after seal", "after upload")
	if database() {
		list = append(list, "after PostgreSQL's commit")
	}
	return list
}

func database() bool { return flag.Lookup("postgres").Value.String() != "" }

// lacks reports whether there were not enough kills yet.
func (k *killer) lacks() bool {
	if *kills == 0 {
		return len(k.left) > 0
	}
	if k.total < *kills || k.jobs == 0 {
		return true
	}
	if *kills < 30 {
		return false
	}
	for _, point := range k.points() {
		if k.at[point] < 3 {
			return true
		}
	}
	for _, n := range k.tenths {
		if n == 0 {
			return true
		}
	}
	return false
}

// wholePages is how many pages the site has.
func wholePages() int { return deep.Rounds(120, 300) }

// campaign runs a job to its end.
func (k *killer) campaign() {
	k.jobs++
	folder, objects := k.TempDir(), s3mem.New()
	if err := objects.CreateBucket("wares"); err != nil {
		k.Fatal(err)
	}
	loop := new(killtest.Loop)
	k.loop.Store(loop)
	k.seen.Store(new(sync.Map))
	k.pages.Store(0)
	site, bucket := httptest.NewServer(http.HandlerFunc(k.serve)), httptest.NewServer(gofakes3.New(objects).Server())
	defer site.Close()
	defer bucket.Close()
	j := job{Folder: folder, Site: site.URL, Bucket: bucket.URL, Files: *kills == 0}
	if database() && !j.Files {
		j.Database = newDatabase(k.T, k.jobs)
	}
	most := 3 + k.random.IntN(12) // kills of this job before it may end
	loop.Next = func(n int, _ *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		j.Point, j.Nth = "", 0
		if j.Files {
			j.Point, j.Nth = k.next(j.Folder)
		} else if n < most && k.total < *kills || *kills >= 30 && n < most {
			j.Point, j.Nth = k.choose(j.Folder)
		} else if crashes, _ := suspects(k.T, filepath.Join(folder, "job")); crashes < 2 && k.random.IntN(2) == 0 && n < most+3 {
			j.Point, j.Nth = ends[k.random.IntN(len(ends))], 1+k.random.Int64N(3)
		}
		var faults []killtest.Fault
		if j.Point == random {
			faults = []killtest.Fault{{Count: int(j.Nth)}}
		}
		return j.command(), faults
	}
	loop.Judge = func(e killtest.Exit) (again bool, err error) {
		if again, err = killtest.Finished(e); err != nil {
			return false, fmt.Errorf("job %d, after %d kills, at %s: %w", k.jobs, k.total, j.Point, err)
		}
		if !again {
			if e.Start == 0 && j.Point != "" && j.Files {
				err = fmt.Errorf("a whole job never came to the point %q", j.Point)
			}
			return false, err
		}
		k.total++
		k.at[j.Point]++
		k.tenths[min(9, 10*k.pages.Load()/int64(wholePages()))]++
		if j.Files && slices.Contains([]string{"after Restore", "after a file's commit", "in Close"}, j.Point) { // points of the packed CSV, which nobody writes then
			packed := filepath.Join(j.Folder, "wares.csv.gz")
			if info, err := os.Stat(packed); err != nil || info.Size() > 0 { // a new job has written nothing yet
				passes(k.T, "gzip", "-t", packed)
				ungzip(k.T, open(k.T, packed))
			}
		}
		k.left = slices.DeleteFunc(k.left, func(point string) bool { return point == j.Point })
		return true, nil
	}
	if _, err := loop.Run(k.Context()); err != nil {
		k.Fatal(err)
	}
	noneGivenUp(k.T, filepath.Join(folder, "job"))
	readAll(k.T, j, objects)
}

// next says where the next kill of the short form comes. A page that was under way in two kills is not under way in a
// third one, which would be the end of it: the suspects get through first, one by one, and each of them is less than
// ten writes.
func (k *killer) next(folder string) (string, int64) {
	crashes, n := suspects(k.T, filepath.Join(folder, "job"))
	for _, point := range k.left {
		switch point {
		case "after stage", "in append", "after sync", "after a file's commit":
			return point, int64(2 + 10*n)
		}
		if crashes < 2 {
			return point, 1
		}
	}
	return "", 0
}

// choose says where the next kill comes.
func (k *killer) choose(folder string) (string, int64) {
	if crashes, n := suspects(k.T, filepath.Join(folder, "job")); crashes > 1 { // a third one would be the end of that page: the suspects get through first
		return random, int64(40+(1+itemsPerPage)*n) + k.random.Int64N(int64(wholePages()/3))
	}
	if k.random.IntN(3) == 0 {
		return random, 1 + k.random.Int64N(int64(wholePages()/3))
	}
	points := k.points()
	point := points[k.random.IntN(len(points))]
	if k.random.IntN(2) == 0 { // the one with the fewest
		point = slices.MinFunc(points, func(a, b string) int { return cmp.Compare(k.at[a], k.at[b]) })
	}
	switch point {
	case "after stage":
		return point, 1 + k.random.Int64N(100)
	case "in append", "after sync":
		return point, 1 + k.random.Int64N(40)
	case "before Restore", "after Restore", "after truncate":
		return point, 1 + k.random.Int64N(4)
	case "after seal", "after upload", "before rename", "after rename", "in Close":
		return point, 1 + k.random.Int64N(3)
	default:
		return point, 1 + k.random.Int64N(12)
	}
}

// command returns the command of the process that runs the job.
func (j job) command() *exec.Cmd {
	return exec.Command(os.Args[0], "-test.run=^TestKills$", "-child.folder="+j.Folder, "-child.site="+j.Site, "-child.bucket="+j.Bucket,
		"-child.database="+j.Database, fmt.Sprint("-child.files=", j.Files), "-child.point="+j.Point, fmt.Sprint("-child.nth=", j.Nth))
}

// serve is the site: pages that link to three others each, and images.
func (k *killer) serve(w http.ResponseWriter, r *http.Request) {
	k.loop.Load().Count()
	var n int
	if _, err := fmt.Sscanf(r.URL.Path, "/image/%d", &n); err == nil {
		_, _ = w.Write(imageOf(n))
		return
	}
	if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= wholePages() {
		http.NotFound(w, r)
		return
	}
	if _, known := k.seen.Load().LoadOrStore(n, true); !known {
		k.pages.Add(1)
	}
	fmt.Fprintf(w, "<!doctype html><title>%d</title>%s", n, strings.Repeat("<p>text", n%50))
	for next := 3*n + 1; next <= 3*n+3 && next < wholePages(); next++ {
		fmt.Fprintf(w, `<a href="/%d">next</a>`, next)
	}
}

// imageOf returns a picture that no other number has.
func imageOf(n int) []byte {
	picture := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range 16 {
		picture.SetGray(i%8, i/8, color.Gray{Y: uint8(n >> i & 1 * 255)})
	}
	var b bytes.Buffer
	_ = png.Encode(&b, picture) // into memory
	return b.Bytes()
}

// noneGivenUp says which requests of a job that is done have failed.
func noneGivenUp(t *testing.T, folder string) {
	t.Helper()
	cache, err := disk.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for letter, err := range cache.DeadLetters(t.Context()) {
		t.Errorf("%+v, %v", letter, err)
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
}

// suspects returns the most crashes that a request of the job has, and how many requests have any.
func suspects(t *testing.T, folder string) (crashes, n int) {
	t.Helper()
	if _, err := os.Stat(folder); err != nil {
		return 0, 0
	}
	cache, err := disk.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	status, err := cache.Status(t.Context())
	if err := errors.Join(err, cache.Close()); err != nil {
		t.Fatal(err)
	}
	for _, info := range status.Suspects {
		crashes = max(crashes, info.Record.Crashes)
	}
	return crashes, len(status.Suspects)
}
