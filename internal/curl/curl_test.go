package curl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/curl"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// none is a disk without files.
func none(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

// What is refused names the option and says why.
func TestRefused(t *testing.T) {
	for line, has := range map[string]string{
		"curl -k https://x/":                     "option -k: certificates are always verified",
		"curl --insecure https://x/":             "option --insecure: certificates are always verified",
		"curl -sk https://x/":                    "option -k:",
		"curl --frobnicate https://x/":           "option --frobnicate: it is not known",
		"curl -y 5 https://x/":                   "option -y: it is not known",
		"curl -d":                                "needs a value",
		"curl":                                   "no URL",
		"":                                       "begin with curl",
		"wget http://x/":                         "begin with curl",
		"curl http://x/ http://y/":               "2 URLs",
		"curl http://x/ --next http://y/":        "option --next",
		"curl http://x/ | jq .":                  "only the curl command",
		"curl http://x/ > file":                  "only the curl command",
		"curl http://x/?a=1&b=2":                 "only the curl command",
		"curl http://x/$PAGE":                    "would replace",
		"curl \"http://x/$(id)\"":                "would replace",
		"curl `id`":                              "would replace",
		"curl 'http://x/":                        "not closed",
		"curl $'http://x/":                       "not closed",
		"curl http://x/\nrm -rf x":               "second command",
		"curl http://x/[1-9]":                    "several URLs",
		"curl ftp://x/":                          "only URLs of http",
		"curl file:///etc/passwd":                "only URLs of http",
		"curl http://":                           "cannot be requested",
		"curl -d @nothing http://x/":             "file cannot be read",
		"curl -F f=@nothing http://x/":           "file cannot be read",
		"curl -F f=@a,b http://x/":               "several files",
		"curl -F 'a=b;c' http://x/":              "behind a semicolon",
		"curl -F noequals http://x/":             "name=value",
		"curl -d @- http://x/":                   "no standard input",
		"curl -b cookies.txt http://x/":          "files of cookies",
		"curl -u user http://x/":                 "password is missing",
		"curl -I -d a http://x/":                 "HEAD request has no body",
		"curl -d a -F b=c http://x/":             "one body",
		"curl -H nonsense http://x/":             "Name: value",
		"curl -m soon http://x/":                 "number of seconds",
		"curl --max-redirs -1 http://x/":         "without end",
		"curl -x socks4://p http://x/":           "a proxy is of",
		"curl --location-trusted http://x/":      "never go to another origin",
		"curl -K file http://x/":                 "option -K",
		"curl http://x/\x00":                     "NUL",
		"curl --data-binary @<(cat x) http://x/": "only the curl command",
		"curl -d @<(base64 -d <<<AAAA) http://x": "for --data-binary alone",
	} {
		_, err := curl.Parse(line, none)
		var wrong *curl.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), has) {
			t.Errorf("%q: %v, want %s", line, err, has)
		}
		if err != nil && strings.Contains(err.Error(), "passwd") {
			t.Errorf("the error repeats a value: %v", err)
		}
	}
}

// What a random request is written as gives the request back.
func TestRoundTrip(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	text := func(of string, most int) string {
		var b strings.Builder
		letters := []rune(of)
		for range random.IntN(most) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	const any = "abcXYZ019 '\"\\$`!&|;<>(){}[]*?#~^%=@,:/+-_.\n\r\t\x01\x7f\u0085üß中😀"
	for range 5_000 {
		want := &curl.Command{URL: "http://h.example/" + text("abc[]{}'\"\\$`!&|;<>()*?~^=@,:+-_.", 20), Follow: random.IntN(2) == 0, MaxRedirects: random.IntN(4) - 1,
			Timeout: time.Duration(random.IntN(3)) * 1500 * time.Millisecond}
		want.Method = []string{"GET", "POST", "PUT", "HEAD", "DELETE", "PURGE"}[random.IntN(6)]
		if random.IntN(2) == 0 && want.Method != "HEAD" {
			want.Body = []byte(text(any+"\x00", 60))
			if random.IntN(3) == 0 {
				want.Body = []byte{0xff, 0, byte(random.IntN(256)), '@'}
			}
		}
		for range random.IntN(4) {
			want.SetHeader("X-"+text("abc", 4), strings.Trim(text(strings.NewReplacer("\n", "", "\r", "").Replace(any), 30), " \t"))
		}
		if random.IntN(2) == 0 {
			want.Cookies = map[string]string{"a": text("xyz!$&()=:;"[:10], 8), "b" + text("xyz", 3): "1"}
		}
		line := want.String()
		got, err := curl.Parse(line, none)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, line, err)
		}
		if want.Body != nil && got.Body != nil && bytes.Equal(want.Body, got.Body) {
			got.Body = want.Body
		}
		if len(got.Header) == 0 {
			got.Header = want.Header
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %s\ngives %+v\nwant  %+v", seed, line, got, want)
		}
	}
}

// The naughty strings come through quotes, and are what is sent as a body, as fields of a form and of a query, or in a header.
func TestNaughtyStrings(t *testing.T) {
	var naughty []string
	if err := json.Unmarshal(conformance.Read(t, "blns.json"), &naughty); err != nil {
		t.Fatal(err)
	}
	for _, want := range naughty {
		got, err := curl.Words("curl " + curl.Quote(want))
		if err != nil || !slices.Equal(got, []string{"curl", want}) {
			t.Errorf("%q: %q, %v", want, got, err)
		}
		line := "curl http://h/ --data-raw " + curl.Quote(want)
		if c, err := curl.Parse(line, none); err != nil || string(c.Body) != want {
			t.Errorf("%s: the body is %q, %v", line, c.Body, err)
		}
		line = "curl http://h/ -G --data-urlencode " + curl.Quote("a="+want)
		if c, err := curl.Parse(line, none); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if u, err := url.Parse(c.URL); err != nil || u.Query().Get("a") != want {
			t.Errorf("%s: the URL is %q, %v", line, c.URL, err)
		}
		line = "curl http://h/ --form-string " + curl.Quote("a="+want)
		if c, err := curl.Parse(line, none); err != nil || !strings.Contains(string(c.Body), "\r\n\r\n"+want+"\r\n--") {
			t.Errorf("%s: the body is %q, %v", line, c.Body, err)
		}
		if value := strings.Trim(want, " \t"); value == want && value != "" && !strings.ContainsAny(value, "\r\n") {
			line = "curl http://h/ -H " + curl.Quote("X-A: "+want)
			if c, err := curl.Parse(line, none); err != nil || !slices.Equal(c.Header, []curl.Field{{Name: "X-A", Value: want}}) {
				t.Errorf("%s: the header is %q, %v", line, c.Header, err)
			}
		}
	}
}

// A line that would take time in proportion to the square of its length is refused.
func TestManyWords(t *testing.T) {
	for _, option := range []string{" -H a:b", " --url-query a", " -d a", " -b a=b", " -F a=b", " http://h/"} {
		_, err := curl.Parse("curl http://h/"+strings.Repeat(option, 1<<20), none)
		var wrong *curl.Error
		if !errors.As(err, &wrong) || len(err.Error()) > 300 {
			t.Errorf("%s: %.300v", option, err)
		}
	}
}

// Secrets do not stand in what is shown.
func TestRedact(t *testing.T) {
	c, err := curl.Parse(`curl 'http://u:S1@h/?token=S2&page=2#f' -x http://p:S3@proxy:1 -b 'a=S4' -H 'Authorization: Bearer S5' -H 'X-Csrf-Token: S6' -H 'X-Own: S7' -H 'Accept: text/html' -d 'password=S8&user=ada'`, none)
	if err != nil {
		t.Fatal(err)
	}
	c.Redact(func(name string) bool { return name == "Authorization" || name == "X-Own" })
	line := c.String()
	for _, secret := range []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8"} {
		if strings.Contains(line, secret) {
			t.Errorf("%s has %s", line, secret)
		}
	}
	for _, kept := range []string{"page=2", "user=ada", "Accept: text/html", "Bearer"} {
		if !strings.Contains(line, kept) {
			t.Errorf("%s lacks %s", line, kept)
		}
	}
	for _, line := range []string{`curl http://h/ --json '{"password":"S1"}'`, `curl http://h/ -d '{"password":"S1=&S1"}'`} { // the second without its type
		c, err := curl.Parse(line, none)
		if err != nil {
			t.Fatal(err)
		}
		if c.Redact(func(string) bool { return false }); strings.Contains(c.String(), "S1") {
			t.Error(c.String())
		}
	}
}

// FuzzWords checks that any line gives words or an error, and that words that are quoted are read back.
func FuzzWords(f *testing.F) {
	for _, line := range []string{`curl 'a' "b\"" $'\x41\u00fc\101' c\ d`, "curl ^\"a^\\^\"b^\" ^\n\n -d x", "curl \\\n -H 'X: y'", `curl --data-binary @<(base64 -d <<<AAE=) http://h/`, "curl 'é' $'\\cA' # x", `curl -F 'a="b;c";type=x'  http://h/[1]`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := curl.Words(line)
		if err != nil {
			return
		}
		quoted := "curl"
		for _, w := range words {
			if strings.ContainsRune(w, 0) { // bytes of --data-binary
				return
			}
			quoted += " " + curl.Quote(w)
		}
		again, err := curl.Words(quoted)
		if err != nil || !slices.Equal(again[1:], words) {
			t.Fatalf("%q is %q, then %q, %v", line, words, again, err)
		}
		if c, err := curl.Parse(line, none); err == nil {
			back, err := curl.Parse(c.String(), none)
			if err != nil || back.String() != c.String() {
				t.Fatalf("%q is written as %s and then as %v, %v", line, c, back, err)
			}
		}
	})
}

// It fails if an error shows a part of the line, which may be a password.
func TestErrorsShowNoSecret(t *testing.T) {
	for line, want := range map[string]string{
		`curl https://h/ -H "Authorization: Bearer SECRET`:         "the quotation at byte 20 is not closed",
		`curl https://h/ -H 'Authorization: Bearer SECRET`:         "the quotation at byte 20 is not closed",
		`curl https://h/ -H $'Authorization: Bearer SECRET`:        "the quotation at byte 20 is not closed",
		"curl ^\"https://h/^\" -H ^\"Authorization: Bearer SECRET": "is not closed",
		`curl https://h/?a=1&token=SECRET`:                         "remove the & at byte 20 and what follows",
		"curl ^\"https://h/^\" &token=SECRET":                      "remove the & at byte 21 and what follows",
		`curl https://h/ -u me:$SECRET`:                            "the shell would replace the $ at byte 23",
		`curl https://h/ -u "me:pa$SECRET"`:                        "the shell would replace the $ at byte 26",
		"curl https://h/ -u me:`SECRET`":                           "the shell would replace the ` at byte 23",
		`curl https://h/ -F 'a=SECRET;SECRET=1'`:                   "behind a semicolon stand",
		`curl https://h/ -H SECRET`:                                "a header is written as",
		`curl SECRETS://me:SECRET@h/`:                              "only URLs of http and https",
	} {
		_, err := curl.Parse(line, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ReplaceAll(err.Error(), "SECRETS", ""), "SECRET") {
			t.Errorf("%s: %v; wanted %s", line, err, want)
		}
	}
}
