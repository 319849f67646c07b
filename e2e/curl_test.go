package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
)

var curlPath = flag.String("curl", "", "the path of curl, /usr/bin/curl")

// curlCases are command lines for bash. {site} is the server, {n} the number of the case. The files body.txt, data.bin and a.png are in the
// working folder.
var curlCases = []struct {
	line string
	cmd  string // the same for cmd of Windows, which we read in its place; "" is line
}{
	{line: `curl {site}/{n}/`},
	{line: `curl '{site}/{n}/a?b=c&d=%20e#frag'`},
	{line: `curl "{site}/{n}/?p=\$a\\b" -H "X: \"q\" \c"`},
	{line: `curl {site}/{n}`},
	{line: `curl --url {site}/{n}/`},
	{line: `curl '{hostport}/{n}/without-scheme'`},
	{line: `curl -g '{site}/{n}/?a[]=1&b={x}'`},
	{line: `curl '{site}/{n}/?a\[\]=1&b=\{x\}'`},
	{line: `curl '{site}/{n}/?q=a+b&r=!x'`},
	{line: `curl {site}/{n}/a/../b/./c`},
	{line: `curl {site}/{n}/ -X DELETE`},
	{line: `curl -XPUT {site}/{n}/`},
	{line: `curl --request PURGE {site}/{n}/`},
	{line: `curl -X POST {site}/{n}/`},
	{line: `curl -I {site}/{n}/`},
	{line: `curl --head {site}/{n}/`},
	{line: `curl -X GET -d a=b {site}/{n}/`},
	{line: `curl -H 'X-One: 1' -H "X-Two: two words" {site}/{n}/`},
	{line: `curl -H 'X-Empty;' -H 'X-Gone:' -H 'X-Spaces:    lots' {site}/{n}/`},
	{line: `curl -H 'Accept: application/json' -H 'User-Agent: mine/1.0' {site}/{n}/`},
	{line: `curl -H 'accept-language: en-GB,en;q=0.9' -H 'sec-ch-ua: "Chromium";v="156"' {site}/{n}/`},
	{line: `curl -H 'Host: other.example' {site}/{n}/`},
	{line: `curl -H 'User-Agent:' -H 'Accept:' {site}/{n}/`},
	{line: `curl -H @headers.txt {site}/{n}/`},
	{line: `curl -H 'X-Same: 1' -H 'X-Same: 2' {site}/{n}/`},
	{line: `curl -d 'a=1&b=2' {site}/{n}/`},
	{line: `curl -d a=1 -d b=2 --data 'c=x y' {site}/{n}/`},
	{line: `curl -d '' {site}/{n}/`},
	{line: `curl -da=1 {site}/{n}/`},
	{line: `curl -d @body.txt {site}/{n}/`},
	{line: `curl -d a=1 -d @body.txt {site}/{n}/`},
	{line: `curl --data-ascii @body.txt {site}/{n}/`},
	{line: `curl --data-binary @body.txt {site}/{n}/`},
	{line: `curl --data-binary @data.bin -H 'Content-Type: application/octet-stream' {site}/{n}/`},
	{line: `curl --data-raw '@body.txt' {site}/{n}/`},
	{line: `curl --data-raw $'line\none\r\n\'quoted\' \u00fc \x41\101\t!' {site}/{n}/`},
	{line: `curl --data-raw '{"a": "it'\''s"}' -H 'Content-Type: application/json' {site}/{n}/`},
	{line: `curl --data-urlencode 'a=x y&z' --data-urlencode '=x=y' --data-urlencode 'plain & simple' {site}/{n}/`},
	{line: `curl --data-urlencode 'n@body.txt' --data-urlencode '@body.txt' --data-urlencode 'u=ü~-._*' {site}/{n}/`},
	{line: `curl --json '{"a":1}' {site}/{n}/`},
	{line: `curl --json '{"a":' --json '1}' -H 'Accept: text/html' {site}/{n}/`},
	{line: `curl -d 'a=1' -H 'Content-Type:' {site}/{n}/`},
	{line: `curl -d 'a=1' -H 'Content-Type: text/xml; charset=utf-8' {site}/{n}/`},
	{line: `curl -X PATCH --data-raw x {site}/{n}/`},
	{line: `curl -G -d a=1 -d 'b=x%20y' --data-urlencode 'c=x y' {site}/{n}/ | cat`, cmd: "curl -G -d a=1 -d b=x%20y --data-urlencode \"c=x y\" {site}/{n}/ ^\n"},
	{line: `curl -G -d a=1 --data-urlencode 'c=x y' '{site}/{n}/?q=0'`},
	{line: `curl -G {site}/{n}/`},
	{line: `curl -G -I -d a=1 {site}/{n}/`},
	{line: `curl --url-query 'a=x y' --url-query '+b=1' '{site}/{n}/?q'`},
	{line: `curl --url-query 'a=1' -d body {site}/{n}/`},
	{line: `curl -F a=1 -F 'b=two words' {site}/{n}/`},
	{line: `curl -F 'f=@a.png' -F 'g=@body.txt;type=text/css' {site}/{n}/`},
	{line: `curl -F 'f=@data.bin;filename="na me.txt"' {site}/{n}/`},
	{line: `curl -F 'f=@body.txt;filename=x.html;type=text/plain' {site}/{n}/`},
	{line: `curl -F 'a=<body.txt' -F 'b={};type=application/json' {site}/{n}/`},
	{line: `curl -F 'a="x;y"' --form-string 'b=@not;a=file' -F 'q"uote=ü' {site}/{n}/`},
	{line: `curl -X PUT -F a=1 {site}/{n}/`},
	{line: `curl -b 'a=1; b=2' {site}/{n}/`},
	{line: `curl --cookie 'b=2; a=1' {site}/{n}/`},
	{line: `curl -b 'a="x y"; b=z,w' {site}/{n}/`},
	{line: `curl -b a=1 -b b=2 {site}/{n}/`},
	{line: `curl -H 'Cookie: a=1; b=2' -b c=3 {site}/{n}/`},
	{line: `curl -u 'ada:se:cret' {site}/{n}/`},
	{line: `curl -u ada: {site}/{n}/`},
	{line: `curl -u a:b -H 'Authorization: Bearer t' {site}/{n}/`},
	{line: `curl http://us%65r:p%40ss@{hostport}/{n}/`},
	{line: `curl --oauth2-bearer tok {site}/{n}/`},
	{line: `curl -x {site} http://site.example/{n}/a?b=c`},
	{line: `curl -x {hostport} -U 'user:pa ss' http://site.example/{n}/`},
	{line: `curl --proxy http://user:p%40ss@{hostport} http://site.example/{n}/`},
	{line: `curl -A 'Mozilla/5.0 (X11)' {site}/{n}/`},
	{line: `curl -A '' {site}/{n}/`},
	{line: `curl -e https://from.example/ {site}/{n}/`},
	{line: `curl --referer 'https://from.example/;auto' {site}/{n}/`},
	{line: `curl -r 0-99 {site}/{n}/`},
	{line: `curl {site}/{n}/redirect`},
	{line: `curl -L {site}/{n}/redirect`},
	{line: `curl -sSLf --compressed -o /dev/null {site}/{n}/redirect -d a=1`},
	{line: `curl -L --max-redirs 1 {site}/{n}/redirect-redirect`},
	{line: `curl --location --no-location {site}/{n}/redirect`},
	{line: `curl --compressed -m 20 --http1.1 -w '%{http_code}' {site}/{n}/`},
	{line: "curl \\\n  -H 'A: 1' \\\n  --data-raw 'x' \\\n  {site}/{n}/"},
	{line: `curl '{site}/{n}/s?k=v' \
  -H 'accept: text/html,application/xhtml+xml,*/*;q=0.8' \
  -H 'content-type: application/x-www-form-urlencoded' \
  -b 'session=abc; theme=dark' \
  -H 'origin: http://site.example' \
  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' \
  --data-raw $'q=it\'s\u0021&x=%C3%BC' \
  --compressed`},
	{line: `curl '{site}/{n}/' -X POST -H 'User-Agent: Firefox' -H 'Content-Type: application/json' --data-raw '{"a":"b"}'`},
	{line: `curl '{site}/{n}/?a=1&b=%20' -H 'X: "quoted" 100% ^ & |' --data-raw '{"k":"v w","n":1}'`,
		cmd: "curl ^\"{site}/{n}/?a=1^&b=^%^20^\" ^\r\n  -H ^\"X: ^\\^\"quoted^\\^\" 100^% ^^ ^& ^|^\" ^\r\n  --data-raw ^\"^{^\\^\"k^\\^\":^\\^\"v w^\\^\",^\\^\"n^\\^\":1^}^\""},
	{line: "curl '{site}/{n}/' -H 'X: a b' --data-raw $'one\\ntwo'", cmd: "curl ^\"{site}/{n}/^\" -H ^\"X: a b^\" --data-raw ^\"one^\n\ntwo^\""},
	{line: `curl '{site}/{n}/' -H 'X: say "hi" \'`, cmd: "curl \"{site}/{n}/\" ^\n -H \"X: say \\\"hi\\\" \\\\\""},
	{line: `curl "{site}/{n}/"'joi'ned\-word'?x=%20' -H X:\ 1 # a comment`},
}

// curlEcho is a server that keeps each request as it came.
type curlEcho struct {
	mu  sync.Mutex
	got map[string][]string
}

var (
	curlCase     = regexp.MustCompile(`/(\d+)([/? ]|$)`)
	curlBoundary = regexp.MustCompile(`boundary=([^\s;"]+)`)
)

// serve answers one request of a connection.
func (e *curlEcho) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	lines := textproto.NewReader(r)
	first, err := lines.ReadLine()
	if err != nil {
		return
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return
	}
	asked, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(first+"\r\nHost: x\r\nContent-Length: "+orZero(header.Get("Content-Length"))+"\r\n\r\n"), r)))
	if err != nil {
		return
	}
	if header.Get("Expect") != "" {
		io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	boundary := ""
	if m := curlBoundary.FindStringSubmatch(header.Get("Content-Type")); m != nil {
		boundary = m[1]
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := strings.Join(header[name], ", ")
		switch {
		case name == "Connection", name == "Proxy-Connection", name == "Accept-Encoding", name == "Expect":
			continue
		case name == "Accept" && value == "*/*", name == "User-Agent" && regexp.MustCompile(`^(curl|tegenaria)/`).MatchString(value):
			continue
		case name == "Content-Length" && (value == "0" || boundary != ""): // boundaries differ in length
			continue
		}
		b.WriteString(name + ": " + value + "\n")
	}
	fmt.Fprintf(&b, "\n%q", body)
	text := b.String()
	if boundary != "" {
		text = strings.ReplaceAll(text, boundary, "BOUNDARY")
	}
	if m := curlCase.FindStringSubmatch(first); m != nil {
		e.mu.Lock()
		e.got[m[1]] = append(e.got[m[1]], text)
		e.mu.Unlock()
	}
	target := asked.RequestURI
	if i := strings.LastIndex(target, "redirect"); i >= 0 {
		fmt.Fprintf(conn, "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", strings.TrimSuffix(target[:i], "-")+target[i+len("redirect"):])
		return
	}
	answer := "ok"
	if asked.Method == "HEAD" {
		answer = ""
	}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n%s", answer)
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}

// take returns what came of each case, and forgets it.
func (e *curlEcho) take() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = make(map[string][]string)
	return got
}

// Each command line, run by curl itself and by us, makes the same requests, but for the headers that both have by default.
func TestCurl(t *testing.T) {
	if *curlPath == "" {
		t.Skip("no curl: run this test with -args -curl /usr/bin/curl")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	echo := &curlEcho{got: make(map[string][]string)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { echo.serve(conn) })
		}
	})
	defer serving.Wait()
	defer listener.Close()
	folder := t.TempDir()
	for name, data := range map[string]string{
		"body.txt": "first=line\r\nsecond & last\n", "data.bin": "\x00\xff\r\n\x01", "a.png": "\x89PNG", "headers.txt": "X-File: 1\nX-Other: two\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	address := listener.Addr().String()
	written := func(line string, n int) string {
		return strings.NewReplacer("{site}", "http://"+address, "{hostport}", address, "{n}", fmt.Sprint(n)).Replace(line)
	}
	for i, c := range curlCases {
		run := exec.CommandContext(t.Context(), "bash", "-c", *curlPath+" -s"+strings.TrimPrefix(written(c.line, i), "curl"))
		run.Env = []string{"HOME=" + folder, "LC_ALL=C.UTF-8"}
		var complaint bytes.Buffer
		run.Stderr = &complaint
		if err := run.Run(); err != nil {
			t.Logf("%s: curl ends with %v %s", c.line, err, complaint.String())
		}
	}
	want := echo.take()
	var requests []*tegenaria.Request
	for i, c := range curlCases {
		line := c.line
		if c.cmd != "" {
			line = c.cmd
		}
		r, err := tegenaria.RequestFromCurl(written(line, i), tegenaria.RequestWithAllowedStatusCode([]uint64{500}))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		again, err := tegenaria.RequestFromCurl(r.Curl())
		if err != nil {
			t.Errorf("%s: what is exported is %s: %v", line, r.Curl(), err)
		} else if again.Curl() != r.Curl() {
			t.Errorf("%s:\nis exported as\n%s\nand then as\n%s", line, r.Curl(), again.Curl())
		}
		requests = append(requests, r)
	}
	got := sendAll(t, requests, echo)
	for i, c := range curlCases {
		key := fmt.Sprint(i)
		if len(want[key]) == 0 {
			t.Errorf("%s: curl has sent nothing", c.line)
		}
		if !slices.Equal(got[key], want[key]) {
			t.Errorf("%s:\nwe send\n%s\ncurl sends\n%s", c.line, strings.Join(got[key], "\n"), strings.Join(want[key], "\n"))
		}
	}
	// What is exported, run by curl.
	for _, r := range requests {
		run := exec.CommandContext(t.Context(), "bash", "-c", *curlPath+" -s"+strings.TrimPrefix(r.Curl(), "curl"))
		run.Env = []string{"HOME=" + folder, "LC_ALL=C.UTF-8"}
		_ = run.Run() // a chain of redirects that is too long is an error
	}
	again := echo.take()
	for i, c := range curlCases {
		if key := fmt.Sprint(i); !slices.Equal(again[key], want[key]) {
			t.Errorf("%s:\nour export makes curl send\n%s\nand not\n%s", c.line, strings.Join(again[key], "\n"), strings.Join(want[key], "\n"))
		}
	}
	t.Logf("%d command lines", len(curlCases))
	if len(curlCases) < 80 {
		t.Errorf("only %d command lines", len(curlCases))
	}
}

// sendAll sends the requests by an engine, and returns what the server has received.
func sendAll(t *testing.T, requests []*tegenaria.Request, echo *curlEcho) map[string][]string {
	t.Helper()
	parse := tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[string]) error { return nil })
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("curl", parse, requests...)),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
	if err := engine.Run(t.Context(), "curl"); err != nil {
		t.Fatal(err)
	}
	return echo.take()
}
