package urlx_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

func TestResolve(t *testing.T) {
	const page = "http://a/b/c/d;p?q"
	for _, c := range []struct{ name, base, ref, want string }{
		// RFC 3986 §5.4, where the URL standard agrees.
		{"other scheme", page, "g:h", "g:h"},
		{"name", page, "g", "http://a/b/c/g"},
		{"dot name", page, "./g", "http://a/b/c/g"},
		{"folder", page, "g/", "http://a/b/c/g/"},
		{"absolute path", page, "/g", "http://a/g"},
		{"host", page, "//g", "http://g/"},
		{"query", page, "?y", "http://a/b/c/d;p?y"},
		{"name and query", page, "g?y", "http://a/b/c/g?y"},
		{"fragment", page, "#s", "http://a/b/c/d;p?q#s"},
		{"all", page, "g?y#s", "http://a/b/c/g?y#s"},
		{"parameter", page, ";x", "http://a/b/c/;x"},
		{"empty", page, "", "http://a/b/c/d;p?q"},
		{"dot", page, ".", "http://a/b/c/"},
		{"dots", page, "..", "http://a/b/"},
		{"dots and name", page, "../g", "http://a/b/g"},
		{"dots twice", page, "../../g", "http://a/g"},
		{"dots above the root", page, "../../../../g", "http://a/g"},
		{"absolute dots", page, "/./../g", "http://a/g"},
		{"no dot segments", page, "g.", "http://a/b/c/g."},
		{"three dots", page, ".../g", "http://a/b/c/.../g"},
		{"dots behind", page, "g/./h/../i/.", "http://a/b/c/g/i/"},
		{"dots in the query", page, "g?y/../x", "http://a/b/c/g?y/../x"},
		{"dots in the fragment", page, "g#s/../x", "http://a/b/c/g#s/../x"},
		{"same scheme without slashes", page, "http:g", "http://a/b/c/g"},

		{"encoded dots", page, "%2E%2e/.%2e/x/%2e", "http://a/x/"},
		{"empty segments", page, "/x//../y", "http://a/x/y"},
		{"double slash in the base", "http://a/b//c", "../d", "http://a/b/d"},
		{"spaces around", page, " \n g \t", "http://a/b/c/g"},
		{"spaces inside", page, "g h?i j#k l", "http://a/b/c/g%20h?i%20j#k%20l"},
		{"not ASCII", page, "é?é#é", "http://a/b/c/%C3%A9?%C3%A9#%C3%A9"},
		{"not UTF-8", page, "g\xff", "http://a/b/c/g%EF%BF%BD"},
		{"tab and line feed inside", page, "g\t/\nh", "http://a/b/c/g/h"},
		{"backslashes", page, `\g\h`, "http://a/g/h"},
		{"broken encoding", page, "%zz%", "http://a/b/c/%zz%"},
		{"reserved as they are", page, "a|b[c]?d|e[]='", "http://a/b/c/a|b[c]?d|e[]=%27"},
		{"encoded in a path", page, "<`{^}\">", "http://a/b/c/%3C%60%7B%5E%7D%22%3E"},
		{"case and default port", page, "HTTP://WWW.Example.COM:80/A", "http://www.example.com/A"},
		{"other port", page, "https://x:80", "https://x:80/"},
		{"empty port", page, "https://x:/y", "https://x/y"},
		{"port with zeros", page, "http://x:0080/y", "http://x/y"},
		{"port zero", page, "http://x:0/y", "http://x:0/y"},
		{"host and query", page, "//x?y", "http://x/?y"},
		{"scheme of the base", "https://a/", "//x/y", "https://x/y"},
		{"IPv4", page, "http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"},
		{"odd IPv4", page, "http://0x7f.1/x", "http://127.0.0.1/x"},
		{"IPv6", page, "http://[0:0::1]/x", "http://[::1]/x"},
		{"international", page, "http://bücher.de/ß", "http://xn--bcher-kva.de/%C3%9F"},
		{"Punycode", page, "http://XN--Bcher-kva.de/", "http://xn--bcher-kva.de/"},
		{"invalid Punycode", page, "http://xn--a.de/", "http://xn--a.de/"},
		{"credentials", page, "http://u:p@x/y", "http://x/y"},
		{"credentials without a scheme", page, "//info@x/y@z", "http://x/y@z"},
		{"credentials, other than the base's", "http://u:p@x/y", "http://v:q@x/z", "http://x/z"},
		{"credentials of the base, and an absolute path", "http://u:p@x/y", "\\z\\", "http://u:p@x/z/"},
		{"credentials of the base are not for other hosts", "http://u:p@x/y", "http://v/@z", "http://v/@z"},
		{"credentials, without a base that is http", "about:blank", "http://u:p@x/y", "http://x/y"},
		{"a user of another scheme", page, "ssh://git@x/y", "ssh://git@x/y"},
		{"an address and a slash", page, "foo:a@b/c", "foo:a@b/c"},
		{"credentials of the base", "http://u:p@x/y", "z", "http://u:p@x/z"},
		{"underscore", page, "http://a_b.c/", "http://a_b.c/"},
		{"fragment of the base", "http://a/b#c", "?d", "http://a/b?d"},
		{"empty query", page, "?", "http://a/b/c/d;p?"},
		{"slash in the query of the base", "http://a/b/c?d/e", "f", "http://a/b/f"},
		{"mail", page, "mailto:a@b.c?subject=x#y", "mailto:a@b.c?subject=x#y"},
		{"script", page, "JavaScript:void(0)", "javascript:void(0)"},
		{"data", page, "data:text/html,<b> x", "data:text/html,<b> x"},
		{"file base", "file:///a/b", "c", "file:///a/c"},
		{"opaque base", "mailto:x", "#y", "mailto:x#y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := urlx.Resolve(c.base, c.ref)
			if err != nil || got != c.want {
				t.Errorf("%q against %q = %q, %v; want %q", c.ref, c.base, got, err, c.want)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct{ name, base, ref, message string }{
		{"no base", "", "x", `urlx: parsing "": `},
		{"relative base", "/a", "x", `urlx: parsing "/a": `},
		{"opaque base", "mailto:a", "x", `urlx: resolving "x" against "mailto:a": `},
		{"no host", "http://a/", "https://", `urlx: resolving "https://" against "http://a/": `},
		{"port", "http://a/", "//b:65536", `urlx: resolving "//b:65536" against "http://a/": `},
		{"space in the host", "http://a/", "//b c", `urlx: resolving "//b c" against "http://a/": `},
		{"IPv4", "http://a/", "//256.1.1.1", `urlx: resolving "//256.1.1.1" against "http://a/": `},
		{"control characters in the message", "http://a/", "//b:\x1b[2J", `urlx: resolving "//b:\x1b[2J" against `},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := urlx.Resolve(c.base, c.ref)
			var e *urlx.Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.message) {
				t.Fatalf("error is %v, want %s…", err, c.message)
			}
			if strings.Count(err.Error(), c.ref) > 1 && len(c.ref) > 1 {
				t.Errorf("the message repeats the reference: %v", err)
			}
		})
	}
}

func TestResolveAppends(t *testing.T) {
	base, err := urlx.ParseBase("http://a/b")
	if err != nil {
		t.Fatal(err)
	}
	dst := []byte("http://z/../")
	for _, ref := range []string{"../../c", `\d`, "http://b:x"} {
		if dst, err = base.Resolve(dst, ref); err == nil {
			dst = append(dst, ' ')
		}
	}
	if got, want := string(dst), "http://z/../http://a/c http://a/d "; got != want {
		t.Errorf("appended %q, want %q", got, want)
	}
}

func TestLength(t *testing.T) {
	long := strings.Repeat("x/", urlx.MaxSlow)
	if _, err := urlx.Resolve("http://a/", long); err != nil {
		t.Errorf("a long ordinary reference: %v", err)
	}
	_, err := urlx.Resolve("http://a/", `\`+long)
	if !errors.Is(err, urlx.ErrTooLong) {
		t.Errorf("a long unusual reference: error is %v, want ErrTooLong", err)
	}
	if n := len(err.Error()); n > 500 {
		t.Errorf("the message has %d bytes", n)
	}
}

func TestParseReturnsItsArgument(t *testing.T) {
	url := "https://example.com/a/b?c=d#e"
	if n := testing.AllocsPerRun(100, func() {
		if got, err := urlx.Parse(url); err != nil || got != url {
			t.Fatal(got, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a URL that is serialised already", n)
	}
}

func TestBaseIsConcurrent(t *testing.T) {
	base, err := urlx.ParseBase("http://u@a/b?c")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, ref := range []string{"x", `\y`, "//ü", "http:z"} {
				if _, err := base.Resolve(nil, ref); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// checkResolve holds what must hold for any base and reference.
func checkResolve(t *testing.T, base, ref string) {
	t.Helper()
	b, err := urlx.ParseBase(base)
	if err != nil {
		return
	}
	url, err := b.Resolve(nil, ref)
	if fast, ok := urlx.ResolveFast(b, ref); ok {
		slow, slowErr := urlx.ResolveSlow(b, ref)
		if err != nil || fast != string(url) {
			t.Fatalf("%q against %q = %q, %v; the fast path says %q", ref, base, url, err, fast)
		}
		// ASCII names with an xn-- label that IDNA rejects are themselves to browsers, to the standard
		// of today and to us; the library refuses or changes them. Very long inputs it does not get.
		// So it does with those that it has made itself out of over-long labels.
		other := strings.Contains(strings.ToLower(ref), "xn--") || strings.Contains(b.String(), "xn--") || errors.Is(slowErr, urlx.ErrTooLong)
		if !other && (slowErr != nil || fast != slow) {
			t.Fatalf("%q against %q: fast %q, slow %q, %v", ref, base, fast, slow, slowErr)
		}
	}
	if err != nil {
		return
	}
	// What was resolved is absolute, and stays as it is. (Opaque paths may end in spaces that only
	// the fragment behind them keeps; the length may just have reached the limit.)
	again, err := urlx.Parse(string(url))
	if errors.Is(err, urlx.ErrTooLong) {
		return
	}
	if err != nil || again != string(url) {
		t.Fatalf("%q against %q = %q, parsed again it is %q, %v", ref, base, url, again, err)
	}
	if urlx.PlainAuthority(again) && again != "" {
		origin := urlx.Origin(again)
		if parsed, err := urlx.Parse(origin); err != nil || parsed != origin+"/" {
			t.Fatalf("Origin(%q) = %q, which parses to %q, %v", again, origin, parsed, err)
		}
	}
}

var (
	fuzzBases = []string{
		"http://a/b/c/d;p?q#f", "https://example.com:8080/x/../y//z/", "http://u:p@1.2.3.4", "file:///c:/x",
		"mailto:x", "data:a  #b", "https://h?q/r#s/t", "foo://h/p/q", "foo:/.//p",
	}
	fuzzPieces = []string{
		"http:", "https:", "HTTP:", "//", "/", "\\", "a", "b.c", "WWW", ".", "..", "%2e", "%2E", "?", "#", "é",
		"\xff", " ", "\t", "'", "\"", "<", "`", "{", "|", "^", "%", "%zz", "%41", "&", "=", ":", "80", "443",
		"65536", "0", "@", "[::1]", "127.0.0.1", "1", "0x7f", "-", "--", "xn--", "_", "mailto:", "file:", "ftp:",
		"data:", "javascript:", "\x00", "\x7f", ";", "~", "!", "c:", "+",
	}
)

func randomRef(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(10) {
		b.WriteString(fuzzPieces[r.IntN(len(fuzzPieces))])
	}
	return b.String()
}

func TestFastIsSlow(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		checkResolve(t, fuzzBases[r.IntN(len(fuzzBases))], randomRef(r))
	}
}

func FuzzResolve(f *testing.F) {
	for i, ref := range []string{
		"g", "./g/", "../../g?a=b#c", "//A_B.com:80", "HTTP://1.2.3.4/%2e%2E/x", "?q'", "#f`", "", " /a b ",
		"javascript:f()", "https://xn--a.com./é", "http://a..b", "http://-a-.--b", "http://.", "http:x", `\\x\y`,
	} {
		f.Add(fuzzBases[i%len(fuzzBases)], ref)
		f.Add(fuzzBases[0], ref)
	}
	f.Fuzz(checkResolve)
}
