package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/cli"
)

// It fails if a remedy that the log or an error gives names an option of Go where the command has a flag or a setting.
func TestWords(t *testing.T) {
	for _, test := range []struct{ text, spider, site string }{
		{"name its host in EngineWithAllowedDomains", "name its host in -s allowed_domains", "name its host in --domains"},
		{"name its host in EngineWithAllowedDomains (or ScopeOptions.Domains)",
			"name its host in -s allowed_domains (or ScopeOptions.Domains)", "name its host in --domains"},
		{"raise Limits.Depth", "raise -s limits.depth", "raise --depth"},
		{"crawl slower (Politeness.PerSlot, Delay), or wait longer (RequestWithTimeout)",
			"crawl slower (-s politeness.per_slot, -s politeness.delay), or wait longer (RequestWithTimeout)",
			"crawl slower (--per-host, --delay), or wait longer (--timeout)"},
		{"Limits.Pages is -1; it must not be negative", "limits.pages is -1; it must not be negative", "limits.pages is -1; it must not be negative"},
		{"to allow it, add 10.0.0.1/32 to Politeness.AllowPrivate: private", "to allow it, add 10.0.0.1/32 to -s politeness.allow_private: private",
			"to allow it, add 10.0.0.1/32 to -s politeness.allow_private: private"},
		{"EngineWithGrace is -1s", "grace is -1s", "grace is -1s"},
		{"EngineWithTLSConfig (RootCAs)", "EngineWithTLSConfig (RootCAs)", "EngineWithTLSConfig (RootCAs)"},
	} {
		if spider, site := cli.InWords(test.text, false), cli.InWords(test.text, true); spider != test.spider || site != test.site {
			t.Errorf("%q: %q, and of a site %q", test.text, spider, site)
		}
	}

	var left []string
	named := regexp.MustCompile(`\b(?:EngineWith\w+|RequestWith\w+|Limits\.\w+|Politeness\.\w+|spidertest\.\w+|cache/disk|, Delay| AutoThrottle)`)
	for _, pattern := range []string{"../internal/report/*.go", "../internal/fetch/*.go", "../stop.go", "../memcache.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code := regexp.MustCompile(`(?m)//.*$`).ReplaceAll(source, nil)
			for _, literal := range regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`).FindAllString(string(code), -1) {
				text, err := strconv.Unquote(literal)
				if err != nil {
					continue
				}
				left = append(left, named.FindAllString(cli.InWords(text, true), -1)...)
			}
		}
	}
	slices.Sort(left)
	want := []string{ // no flag does that
		"EngineWithHTTPClient", "EngineWithTLSConfig", "RequestWithMaxRedirects", "RequestWithResponseWriter", "RequestWithSpool",
	}
	if left = slices.Compact(left); !slices.Equal(left, want) {
		t.Errorf("the command names options in Go: %q; those that are no settings are %q", left, want)
	}
}
