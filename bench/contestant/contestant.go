//go:build unix

// Package contestant knows the programs that the benchmarks compare: what they are, how they are built and how they are started.
package contestant

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Contestant is a program that does the job.
type Contestant struct {
	Name    string
	Module  string // folder of its module, from bench
	Pkg     string // of a Go program; its flags are those of package job
	Script  string // of a program in another language
	With    []string
	Version func() (string, error) // of what the script needs; the error says what is missing
	Durable bool                   // keeps its state in -dir whether it is to be killed or not
	Slow    bool                   // one round is enough
	Groups  []string
}

// The names that the scenarios use.
const (
	OursStandard = "ours-standard"
	OursSimplest = "ours-simplest"
	OursTyped    = "ours-typed"
	OursChannels = "ours-channels"
	OursLinks    = "ours-links"
	OursAttrs    = "ours-attrs"
	OursDurable  = "ours-durable"
	OursLong     = "ours-long"
	OursMemory   = "ours-memory"
	RawTokenizer = "raw-tokenizer"
	RawGoquery   = "raw-goquery"
	RawSame      = "raw-same"
	CollyAsync   = "colly"
	CollyQueue   = "colly-queue"
	Geziyor      = "geziyor"
	Katana       = "katana"
	Scrapy       = "scrapy"
	Crawlee      = "crawlee"
)

// All are the contestants.
var All = []Contestant{
	{Name: OursStandard, Module: ".", Pkg: "./ours/standard", Groups: []string{"go", "ours"}},
	{Name: OursSimplest, Module: ".", Pkg: "./ours/simplest", Groups: []string{"go", "ours"}},
	{Name: OursTyped, Module: ".", Pkg: "./ours/typed", Groups: []string{"go", "ours"}},
	{Name: OursChannels, Module: ".", Pkg: "./ours/channels", Groups: []string{"go", "ours"}},
	{Name: OursLinks, Module: ".", Pkg: "./ours/links", Groups: []string{"go", "ours"}},
	{Name: OursAttrs, Module: ".", Pkg: "./ours/attrs", Groups: []string{"go", "ours"}},
	{Name: OursDurable, Module: ".", Pkg: "./ours/durable", Groups: []string{"go", "ours"}, Durable: true},
	{Name: OursLong, Module: ".", Pkg: "./ours/long", Groups: []string{"go", "ours"}, Durable: true},
	{Name: OursMemory, Module: ".", Pkg: "./ours/memory", Groups: []string{"go", "ours"}},
	{Name: RawSame, Module: ".", Pkg: "./raw/same", Groups: []string{"go", "raw"}},
	{Name: RawTokenizer, Module: ".", Pkg: "./raw/tokenizer", Groups: []string{"go", "raw"}},
	{Name: RawGoquery, Module: ".", Pkg: "./raw/goquery", Groups: []string{"go", "raw"}},
	{Name: CollyAsync, Module: "peers", Pkg: "./colly", Groups: []string{"go", "peers"}},
	{Name: CollyQueue, Module: "peers", Pkg: "./collyqueue", Groups: []string{"go", "peers"}},
	{Name: Geziyor, Module: "peers", Pkg: "./geziyor", Groups: []string{"go", "peers"}},
	{Name: Katana, Module: "peers", Pkg: "./katana", Groups: []string{"go", "peers"}},
	{Name: Scrapy, Module: "peers", Script: "scrapy/spider.py", With: []string{"/usr/bin/python3"}, Version: scrapyVersion,
		Slow: true, Groups: []string{"peers"}},
	{Name: Crawlee, Module: "peers", Script: "crawlee/main.mjs", With: []string{"node"}, Version: crawleeVersion,
		Slow: true, Groups: []string{"peers"}},
}

func scrapyVersion() (string, error) {
	out, err := exec.Command("/usr/bin/python3", "-c", "import platform, scrapy; print('scrapy', scrapy.__version__, 'on "+
		"Python', platform.python_version())").Output()
	if err != nil {
		return "", errors.New("not installed: Debian package python3-scrapy")
	}
	return strings.TrimSpace(string(out)), nil
}

func crawleeVersion() (string, error) {
	const program = `console.log("crawlee", require("./peers/crawlee/node_modules/@crawlee/cheerio/package.json").version, "on Node", process.version)`
	out, err := exec.Command("node", "-e", program).Output()
	if err != nil {
		return "", errors.New("not installed: npm ci in bench/peers/crawlee")
	}
	return strings.TrimSpace(string(out)), nil
}

// IsGo reports whether it is in Go, and so writes statistics and profiles.
func (c *Contestant) IsGo() bool { return c.Pkg != "" }

// Ours reports whether it is one of ours.
func (c *Contestant) Ours() bool { return slices.Contains(c.Groups, "ours") }

// binary is where it is built.
func (c *Contestant) binary(dir string) string { return filepath.Join(dir, filepath.Base(c.Pkg)) }

// Choose picks contestants by name or group: "all", "go", "ours", "raw", "peers".
func Choose(list string) ([]*Contestant, error) {
	var chosen []*Contestant
	for _, word := range strings.Split(list, ",") {
		known := false
		for i := range All {
			c := &All[i]
			if word != "all" && word != c.Name && !slices.Contains(c.Groups, word) {
				continue
			}
			known = true
			if !slices.Contains(chosen, c) {
				chosen = append(chosen, c)
			}
		}
		if !known {
			return nil, fmt.Errorf("no contestant or group of contestants is called %q", word)
		}
	}
	return chosen, nil
}

// Build makes the programs of the contestants, and the server, in a folder.
func Build(dir string, chosen []*Contestant) error {
	packages := map[string][]string{".": {"./server"}}
	for _, c := range chosen {
		if c.IsGo() {
			packages[c.Module] = append(packages[c.Module], c.Pkg)
		}
	}
	for module, list := range packages {
		cmd := exec.Command("go", append([]string{"build", "-o", dir + string(filepath.Separator)}, list...)...)
		cmd.Dir = module
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", strings.Join(list, " "), err, out)
		}
	}
	return nil
}

// Versions are those of Go and of the libraries that were built into the contestants.
func Versions(dir string, chosen []*Contestant) ([]string, error) {
	libraries := []string{"github.com/gocolly/colly/v2", "github.com/geziyor/geziyor", "github.com/projectdiscovery/katana",
		"github.com/PuerkitoBio/goquery", "golang.org/x/net"}
	var found []string
	for _, c := range chosen {
		if !c.IsGo() {
			if version, err := c.Version(); err == nil { // else its row says so
				found = append(found, version)
			}
			continue
		}
		info, err := buildinfo.ReadFile(c.binary(dir))
		if err != nil {
			return nil, err
		}
		found = append(found, info.GoVersion)
		for _, d := range info.Deps {
			if slices.Contains(libraries, d.Path) {
				found = append(found, d.Path+" "+d.Version)
			}
		}
	}
	slices.Sort(found)
	return append([]string{"tegenaria " + Revision()}, slices.Compact(found)...), nil
}

// Revision is that of the checkout, "unknown" without git.
func Revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Files are those of one run of a contestant, "" where it gets none.
type Files struct{ Items, Dir, Stats, CA, Profile string }

// Command is how to start it for a job.
func (c *Contestant) Command(programs, url string, concurrency int, anyHost bool, f Files) []string {
	argv := slices.Clone(c.With)
	if c.IsGo() {
		argv = append(argv, c.binary(programs), "-stats", f.Stats)
	} else {
		argv = append(argv, filepath.Join(c.Module, c.Script))
	}
	argv = append(argv, "-url", url, "-out", f.Items, "-c", strconv.Itoa(concurrency))
	if f.Dir != "" {
		argv = append(argv, "-dir", f.Dir)
	}
	if anyHost {
		argv = append(argv, "-anyhost")
	}
	if f.CA != "" {
		argv = append(argv, "-ca", f.CA)
	}
	if f.Profile != "" && c.IsGo() {
		argv = append(argv, "-cpuprofile", f.Profile+".cpu.pprof", "-memprofile", f.Profile+".allocs.pprof")
	}
	return argv
}
