package urlx_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/idna"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// tally counts the cases of a suite. A case that fails for an accepted reason is a deviation; more
// deviations of a reason than it may have fail the test.
type tally struct {
	t        *testing.T
	accepted map[string]int
	passed   int
	failed   int
	found    map[string]int
}

func newTally(t *testing.T, accepted map[string]int) *tally {
	tl := &tally{t: t, accepted: accepted, found: map[string]int{}}
	t.Cleanup(tl.report)
	return tl
}

func (tl *tally) pass() { tl.passed++ }

// fail records a failed case; reason is "" or one of the accepted reasons.
func (tl *tally) fail(reason, format string, args ...any) {
	tl.t.Helper()
	if _, ok := tl.accepted[reason]; ok {
		tl.found[reason]++
		return
	}
	tl.failed++
	tl.t.Errorf(format, args...)
}

func (tl *tally) report() {
	if tl.t.Skipped() {
		return
	}
	deviations := 0
	for _, n := range tl.found {
		deviations += n
	}
	tl.t.Logf("%d passed, %d failed, %d deviations", tl.passed, tl.failed, deviations)
	if tl.passed == 0 {
		tl.t.Error("no case passed")
	}
	for _, reason := range slices.Sorted(maps.Keys(tl.accepted)) {
		n, limit := tl.found[reason], tl.accepted[reason]
		tl.t.Logf("  %d: %s", n, reason)
		if n > limit {
			tl.t.Errorf("%d deviations, accepted are %d: %s", n, limit, reason)
		}
		if n < limit {
			tl.t.Errorf("only %d deviations of %d accepted ones are left, lower the number: %s", n, limit, reason)
		}
	}
}

func TestPublicSuffixVectors(t *testing.T) {
	tl := newTally(t, nil)
	for line := range strings.Lines(string(conformance.Read(t, "psl-tests.txt"))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		host, want, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("malformed line %q", line)
		}
		if host == "null" {
			host = ""
		}
		if want == "null" {
			want = host // a host that has no registrable domain is itself
		}
		want, err := idna.ToASCII(strings.ToLower(want))
		if err != nil {
			t.Fatal(err)
		}
		if got := urlx.RegistrableDomain(host); got != want {
			tl.fail("", "RegistrableDomain(%q) = %q, want %q", host, got, want)
			continue
		}
		tl.pass()
	}
	// The file has 82 lines of cases; the list's owners have commented out four of them.
	if tl.passed != 78 {
		t.Errorf("%d cases passed, want 78", tl.passed)
	}
}

func TestWebPlatformURLs(t *testing.T) {
	const (
		opaqueSpace = "not http: spaces at the end of an opaque path stay as they are (standard since 2025: the last is %20)"
		fileHost    = "not http: a file URL's host with an invalid xn-- label is an error"
	)
	tl := newTally(t, map[string]int{opaqueSpace: 5, fileHost: 1})
	var entries []json.RawMessage
	if err := json.Unmarshal(conformance.Read(t, "wpt-url", "urltestdata.json"), &entries); err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry[0] == '"' {
			continue // a comment
		}
		var c struct {
			Input, Href, Protocol, Hostname, Port, Pathname, Search string
			Base, Origin                                            *string
			Failure                                                 bool
		}
		if err := json.Unmarshal(entry, &c); err != nil {
			t.Fatal(err)
		}
		var got, base string
		var err error
		if c.Base != nil {
			base = *c.Base
			if got, err = urlx.Resolve(base, c.Input); got == urlx.WithoutUserinfo(c.Href) {
				c.Href = got // credentials that a reference writes are dropped
			}
		} else {
			got, err = urlx.Parse(c.Input)
		}
		if c.Failure != (err != nil) || got != c.Href {
			reason := ""
			switch {
			case strings.HasPrefix(c.Input, "non-special:opaque ") || strings.HasPrefix(c.Input, "non-special:opaque\t"):
				reason = opaqueSpace
			case strings.HasPrefix(c.Input, "file://xn--"):
				reason = fileHost
			}
			tl.fail(reason, "%q against %q = %q, %v; want %q", c.Input, base, got, err, c.Href)
			continue
		}
		tl.pass()
		if c.Failure || c.Protocol != "http:" && c.Protocol != "https:" {
			continue
		}
		hostname := strings.Trim(c.Hostname, "[]")
		if s := urlx.Scheme(got) + ":"; s != c.Protocol {
			t.Errorf("Scheme(%q) is %q, want %q", got, s, c.Protocol)
		}
		if s := urlx.Hostname(got); s != hostname {
			t.Errorf("Hostname(%q) = %q, want %q", got, s, hostname)
		}
		if s := urlx.Origin(got); c.Origin != nil && s != *c.Origin {
			t.Errorf("Origin(%q) = %q, want %q", got, s, *c.Origin)
		}
		if s := strings.TrimSuffix(urlx.Path(got), "?"); s != c.Pathname+c.Search {
			t.Errorf("Path(%q) = %q, want %q", got, s, c.Pathname+c.Search)
		}
		if s := urlx.Port(got); c.Port != "" && s != c.Port {
			t.Errorf("Port(%q) = %q, want %q", got, s, c.Port)
		}
		u, err := urlx.HTTP(got)
		if err != nil {
			t.Errorf("HTTP(%q): %v", got, err)
			continue
		}
		sent := strings.TrimPrefix(u.RequestURI(), u.Scheme+"://"+u.Host)
		if want := urlx.Path(got); sent != want {
			t.Errorf("HTTP(%q) sends %q, want %q", got, sent, want)
		}
	}
}

// TestIDNAVectors is about the library's host parser more than about us: it is here to notice when
// that changes.
func TestIDNAVectors(t *testing.T) {
	const (
		unicode = "not ASCII: golang.org/x/net/idna has an older Unicode, and refuses what STD3 does"
		ascii   = "ASCII: the library refuses an invalid xn-- label beside punctuation, and names that start like a huge number"
	)
	for _, suite := range []struct {
		file           string
		unicode, ascii int
	}{
		{"toascii.json", 13, 1},
		{"IdnaTestV2.json", 191, 32},
	} {
		t.Run(suite.file, func(t *testing.T) {
			tl := newTally(t, map[string]int{unicode: suite.unicode, ascii: suite.ascii})
			var entries []json.RawMessage
			if err := json.Unmarshal(conformance.Read(t, "wpt-url", suite.file), &entries); err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if entry[0] == '"' {
					continue
				}
				var c struct {
					Input  string
					Output *string
				}
				if err := json.Unmarshal(entry, &c); err != nil {
					t.Fatal(err)
				}
				if c.Input == "" {
					continue // no host at all
				}
				got, err := urlx.Parse("https://" + c.Input + "/x")
				switch {
				case c.Output == nil && err == nil:
					tl.fail("", "%q: got %q, want an error", c.Input, got)
				case c.Output == nil, got == "https://"+*c.Output+"/x":
					tl.pass()
				case strings.ContainsFunc(c.Input, func(r rune) bool { return r >= 0x80 }):
					tl.fail(unicode, "%q: got %q, %v; want %q", c.Input, got, err, *c.Output)
				default:
					tl.fail(ascii, "%q: got %q, %v; want %q", c.Input, got, err, *c.Output)
				}
			}
		})
	}
}

func TestURLUtilsResolutions(t *testing.T) {
	tl := newTally(t, nil)
	for _, record := range readCSV(t, "crawler-commons", "url-utils", "url-resolve.csv") {
		ref, base, want := record[0], record[1], record[2]
		var got string
		var err error
		if base == "" {
			got, err = urlx.Parse(ref)
		} else {
			got, err = urlx.Resolve(base, ref)
			want = urlx.WithoutUserinfo(want) // what a reference writes of it is dropped
		}
		if err != nil || got != want {
			tl.fail("", "%q against %q = %q, %v; want %q", ref, base, got, err, want)
			continue
		}
		tl.pass()
	}
}

func readCSV(t *testing.T, elem ...string) [][]string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(conformance.Read(t, elem...)))
	r.Comment, r.TrimLeadingSpace, r.LazyQuotes, r.FieldsPerRecord = '#', true, true, -1
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func key(t *testing.T, url string) string {
	t.Helper()
	k, err := urlx.AppendKey(nil, url, false)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	return string(k)
}

// TestW3libKeys compares which URLs are one page to w3lib and to us.
func TestW3libKeys(t *testing.T) {
	const (
		plus = "split: w3lib takes + and %20 in a query for the same; a server need not"
		port = "merged: w3lib keeps the default port"
		user = "merged: w3lib keeps user name and password"
	)
	tl := newTally(t, map[string]int{plus: 2, port: 37, user: 19})
	type vector struct{ url, canonical, key string }
	var vectors []vector
	for line := range strings.Lines(string(conformance.Read(t, "w3lib-canonicalize.jsonl"))) {
		var c struct{ URL, Canonical string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, vector{c.URL, c.Canonical, key(t, c.URL)})
	}
	first := map[string]vector{} // by canonical form, and by key: no key is a canonical form of ours
	for _, v := range vectors {
		byCanonical, seenCanonical := first["c "+v.canonical]
		byKey, seenKey := first["k "+v.key]
		if !seenCanonical {
			first["c "+v.canonical] = v
		}
		if !seenKey {
			first["k "+v.key] = v
		}
		switch {
		case strings.HasPrefix(v.key, "error"):
			tl.fail("", "%q: %s", v.url, v.key)
		case seenCanonical && byCanonical.key != v.key:
			reason := ""
			if strings.ReplaceAll(byCanonical.key, "%20", "+") == strings.ReplaceAll(v.key, "%20", "+") {
				reason = plus
			}
			tl.fail(reason, "%q and %q are one URL to w3lib", byCanonical.url, v.url)
		case seenKey && byKey.canonical != v.canonical:
			reason := ""
			switch one, other := withoutDefaultPort(byKey.canonical), withoutDefaultPort(v.canonical); {
			case one == other:
				reason = port
			case withoutDefaultPort(urlx.WithoutUserinfo(one)) == withoutDefaultPort(urlx.WithoutUserinfo(other)):
				reason = user
			}
			tl.fail(reason, "%q and %q are two URLs to w3lib", byKey.url, v.url)
		default:
			tl.pass()
		}
	}
}

func withoutDefaultPort(s string) string {
	s = strings.Replace(s, "http://example.com:80/", "http://example.com/", 1)
	return strings.Replace(s, "https://example.com:443/", "https://example.com/", 1)
}

// TestW3libCanonical compares the keys of URLs and of w3lib's canonical forms of them, which is
// more than w3lib asks: its forms are not always the same page.
func TestW3libCanonical(t *testing.T) {
	const (
		form = "w3lib writes the query anew as a form: + for %20, reserved characters encoded"
		path = "w3lib decodes reserved characters in the path"
	)
	tl := newTally(t, map[string]int{form: 204, path: 6})
	for line := range strings.Lines(string(conformance.Read(t, "w3lib-canonicalize.jsonl"))) {
		var c struct{ URL, Canonical string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		ours, theirs := key(t, c.URL), key(t, c.Canonical)
		if ours == theirs {
			tl.pass()
			continue
		}
		ourPath, ourQuery, _ := strings.Cut(ours, "?")
		theirPath, theirQuery, _ := strings.Cut(theirs, "?")
		reason := ""
		switch {
		case ourPath == theirPath && formPairs(ourQuery) == formPairs(theirQuery):
			reason = form
		case lenientUnescape(ourPath) == lenientUnescape(theirPath) && ourQuery == theirQuery:
			reason = path
		}
		tl.fail(reason, "%q: key %q, of canonical form %q", c.URL, ours, theirs)
	}
}

// formPairs decodes and sorts the pairs of a query.
func formPairs(query string) string {
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		pairs[i] = lenientUnescape(strings.ReplaceAll(p, "+", " "))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "\x00")
}

// lenientUnescape decodes what can be decoded.
func lenientUnescape(s string) string {
	var b strings.Builder
	for s != "" {
		if len(s) >= 3 && s[0] == '%' {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// TestCrawlerCommonsKeys: a URL and its normal form have one key.
func TestCrawlerCommonsKeys(t *testing.T) {
	const (
		percent = "a percent sign that encodes nothing becomes %25; other bytes than those sent"
		encoded = "[ ] ^ ` | in a query are encoded; other bytes than those sent"
		slashes = "repeated slashes become one; another page to some servers"
		noHost  = "a web URL without host is kept; nothing to fetch"
		scheme  = "a missing scheme is http; not an absolute URL"
		dot     = "the dot behind the host goes; another Host header"
		noName  = "pairs without name go; the server still sees them"
	)
	tl := newTally(t, map[string]int{
		percent: 5, encoded: 4, slashes: 7, noHost: 3, scheme: 1, dot: 1, noName: 2,
	})
	reason := func(weird, ours, theirs string) string {
		decoded := strings.NewReplacer("%5B", "[", "%5D", "]", "%5E", "^", "%60", "`", "%7C", "|")
		switch {
		case !strings.Contains(weird, ":"):
			return scheme
		case strings.HasPrefix(ours, "error"):
			return noHost
		case ours == strings.ReplaceAll(theirs, "%25", "%"):
			return percent
		case ours == decoded.Replace(theirs):
			return encoded
		case squeeze(ours) == squeeze(theirs):
			return slashes
		case ours == strings.Replace(theirs, ".org/", ".org./", 1):
			return dot
		case strings.Replace(ours, "?=1&", "?", 1) == theirs:
			return noName
		}
		return ""
	}
	for _, record := range readCSV(t, "crawler-commons", "normalizer", "weirdToNormalizedUrls.csv") {
		weird, normal := record[0], record[1]
		ours, theirs := key(t, weird), key(t, normal)
		if ours != theirs || strings.HasPrefix(ours, "error") {
			tl.fail(reason(weird, ours, theirs), "%q: key %q, of normal form %q", weird, ours, theirs)
			continue
		}
		tl.pass()
	}
	for _, record := range readCSV(t, "crawler-commons", "normalizer", "invalidUrls.csv") {
		if k := key(t, record[0]); !strings.HasPrefix(k, "error") {
			tl.fail("", "%q has the key %q, want an error", record[0], k)
			continue
		}
		tl.pass()
	}
}

// squeeze makes one slash of many.
func squeeze(s string) string {
	for strings.Contains(s, "//") {
		s = strings.ReplaceAll(s, "//", "/")
	}
	return s
}
