//go:build unix

package main

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

// contestant is a program that does the job.
type contestant struct {
	name    string
	module  string // folder of its module, from bench
	pkg     string // of a Go program; its flags are those of package job
	script  string // of a program in another language
	with    []string
	version func() (string, error) // of what the script needs; the error says what is missing
	durable bool                   // keeps its state in -dir whether it is to be killed or not
	slow    bool                   // one round is enough
	groups  []string
}

// The names that the scenarios use.
const (
	oursSimplest = "ours-simplest"
	oursTyped    = "ours-typed"
	oursChannels = "ours-channels"
	oursLinks    = "ours-links"
	oursAttrs    = "ours-attrs"
	oursDurable  = "ours-durable"
	oursStandard = "ours-standard"
	oursMemory   = "ours-memory"
	rawTokenizer = "raw-tokenizer"
	rawGoquery   = "raw-goquery"
	rawSame      = "raw-same"
	collyAsync   = "colly"
	collyQueue   = "colly-queue"
	geziyor      = "geziyor"
	katana       = "katana"
	scrapy       = "scrapy"
	crawlee      = "crawlee"
)

var contestants = []contestant{
	{name: oursSimplest, module: ".", pkg: "./ours/simplest", groups: []string{"go", "ours"}},
	{name: oursTyped, module: ".", pkg: "./ours/typed", groups: []string{"go", "ours"}},
	{name: oursChannels, module: ".", pkg: "./ours/channels", groups: []string{"go", "ours"}},
	{name: oursLinks, module: ".", pkg: "./ours/links", groups: []string{"go", "ours"}},
	{name: oursAttrs, module: ".", pkg: "./ours/attrs", groups: []string{"go", "ours"}},
	{name: oursDurable, module: ".", pkg: "./ours/durable", groups: []string{"go", "ours"}, durable: true},
	{name: oursStandard, module: ".", pkg: "./ours/standard", groups: []string{"go", "ours"}, durable: true},
	{name: oursMemory, module: ".", pkg: "./ours/memory", groups: []string{"go", "ours"}},
	{name: rawSame, module: ".", pkg: "./raw/same", groups: []string{"go", "raw"}},
	{name: rawTokenizer, module: ".", pkg: "./raw/tokenizer", groups: []string{"go", "raw"}},
	{name: rawGoquery, module: ".", pkg: "./raw/goquery", groups: []string{"go", "raw"}},
	{name: collyAsync, module: "peers", pkg: "./colly", groups: []string{"go", "peers"}},
	{name: collyQueue, module: "peers", pkg: "./collyqueue", groups: []string{"go", "peers"}},
	{name: geziyor, module: "peers", pkg: "./geziyor", groups: []string{"go", "peers"}},
	{name: katana, module: "peers", pkg: "./katana", groups: []string{"go", "peers"}},
	{name: scrapy, module: "peers", script: "scrapy/spider.py", with: []string{"/usr/bin/python3"}, version: scrapyVersion,
		slow: true, groups: []string{"peers"}},
	{name: crawlee, module: "peers", script: "crawlee/main.mjs", with: []string{"node"}, version: crawleeVersion,
		slow: true, groups: []string{"peers"}},
}

func scrapyVersion() (string, error) {
	out, err := exec.Command("/usr/bin/python3", "-c", "import platform, scrapy; print('scrapy', scrapy.__version__, 'on Python', platform.python_version())").Output()
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

// goProgram reports whether it is in Go, and so writes statistics and profiles.
func (c *contestant) goProgram() bool { return c.pkg != "" }

func (c *contestant) ours() bool { return slices.Contains(c.groups, "ours") }

// binary is where it is built.
func (c *contestant) binary(dir string) string { return filepath.Join(dir, filepath.Base(c.pkg)) }

// choose picks contestants by name or group: "all", "go", "ours", "raw", "peers".
func choose(list string) ([]*contestant, error) {
	var chosen []*contestant
	for _, word := range strings.Split(list, ",") {
		known := false
		for i := range contestants {
			c := &contestants[i]
			if word != "all" && word != c.name && !slices.Contains(c.groups, word) {
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

// build makes the programs of the contestants, and the server, in a folder.
func build(dir string, chosen []*contestant) error {
	packages := map[string][]string{".": {"./server"}}
	for _, c := range chosen {
		if c.goProgram() {
			packages[c.module] = append(packages[c.module], c.pkg)
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

// versions are those of Go and of the libraries that were built into the contestants.
func versions(dir string, chosen []*contestant) ([]string, error) {
	libraries := []string{"github.com/gocolly/colly/v2", "github.com/geziyor/geziyor", "github.com/projectdiscovery/katana",
		"github.com/PuerkitoBio/goquery", "golang.org/x/net"}
	var found []string
	for _, c := range chosen {
		if !c.goProgram() {
			if version, err := c.version(); err == nil { // else its row says so
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
	return append([]string{"tegenaria " + revision()}, slices.Compact(found)...), nil
}

// revision is that of the checkout, "unknown" without git.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// files are those of one run of a contestant, "" where it gets none.
type files struct{ items, dir, stats, ca, profile string }

// command is how to start it for a job.
func (c *contestant) command(programs, url string, concurrency int, anyHost bool, f files) []string {
	argv := slices.Clone(c.with)
	if c.goProgram() {
		argv = append(argv, c.binary(programs), "-stats", f.stats)
	} else {
		argv = append(argv, filepath.Join(c.module, c.script))
	}
	argv = append(argv, "-url", url, "-out", f.items, "-c", strconv.Itoa(concurrency))
	if f.dir != "" {
		argv = append(argv, "-dir", f.dir)
	}
	if anyHost {
		argv = append(argv, "-anyhost")
	}
	if f.ca != "" {
		argv = append(argv, "-ca", f.ca)
	}
	if f.profile != "" && c.goProgram() {
		argv = append(argv, "-cpuprofile", f.profile+".cpu.pprof", "-memprofile", f.profile+".allocs.pprof")
	}
	return argv
}
