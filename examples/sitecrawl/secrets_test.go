package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// secrets are planted everywhere that a crawl may meet one. Each is a name for where it was.
var secrets = []string{
	"seedPassword", "tokenUser", "deadSeed", "authPassword", "authOrigin", "authNowhere", "wrongPassword", "loginCookie",
	"locationPassword", "linkPassword", "linkToken", "deadLink", "badLink", "basePassword", "refreshPassword", "mapPassword", "privatePassword",
}

// found lists the secrets that a text has, also as a header of Basic authentication has them.
func found(text []byte) (all []string) {
	for _, secret := range secrets {
		encoded := base64.StdEncoding.EncodeToString([]byte("me:" + secret))
		if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(strings.TrimRight(encoded, "="))) {
			all = append(all, secret)
		}
	}
	return all
}

// planted is a site full of secrets. It counts the pages that it gave to requests with the login of the seed.
func planted(t *testing.T) (server *httptest.Server, dead string, loggedIn *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead = listener.Addr().String()
	listener.Close()
	loggedIn = &atomic.Int64{}
	var host string
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "loginCookie", MaxAge: 1000})
			fmt.Fprintf(w, `<title>front</title><a href="/away">a</a><a href="/behind">b</a><a href="/base">c</a><a href="/refresh">d</a>
				<a href="http://me:linkPassword@%[1]s/linked">e</a><a href="http://linkToken@%[1]s/token">f</a><a href="http://me:deadLink@%[2]s/">g</a>
				<a href="http://me:badLink@%%zz/">h</a><a href="http://me:wrongPassword@%[1]s/forbidden">i</a><a href="/broken">j</a><a href="/slow">k</a>
				<a href="http://me:privatePassword@10.0.0.1/">l</a><a href="http://me:linkPassword@%[1]s/missing">m</a>`, host, dead)
		case "/away":
			w.Header().Set("Location", "http://me:locationPassword@"+host+"/there")
			w.WriteHeader(http.StatusFound)
		case "/behind":
			if password != "seedPassword" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			loggedIn.Add(1)
		case "/base":
			fmt.Fprintf(w, `<base href="http://me:basePassword@%s/dir/"><a href="based">x</a>`, host)
		case "/refresh":
			fmt.Fprintf(w, `<meta http-equiv="refresh" content="0; url=http://me:refreshPassword@%s/refreshed">`, host)
		case "/forbidden":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case "/broken":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n")
				conn.Close()
			}
		case "/slow":
			<-r.Context().Done()
		case "/sitemap.xml":
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprintf(w, "<urlset><url><loc>http://me:mapPassword@%s/mapped</loc></url></urlset>", host)
		case "/robots.txt", "/missing":
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	host = strings.TrimPrefix(server.URL, "http://")
	return server, dead, loggedIn
}

// No secret is in what sitecrawl writes, with or without a job, to its end or stopped before, nor in the job's store but for its cookies while it is not done. It fails if read takes Request.Url as it is, or if login leaves the URLs as they are given.
func TestNoSecretIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		code  int
	}{
		{"without a job", nil, exitFinished},
		{"with sitemaps", []string{"-sitemaps"}, exitFinished},
		{"with a job", []string{"-job", "job", "-sitemaps"}, exitFinished},
		{"with a job that is stopped", []string{"-job", "job", "-sitemaps", "-max-pages", "4"}, exitStopped},
		{"to stdout", []string{"-out", "-"}, exitFinished},
		{"nothing fetched", []string{"-domains", "127.0.0.2"}, exitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they wait for what is tried again
			server, dead, loggedIn := planted(t)
			host := strings.TrimPrefix(server.URL, "http://")
			dir := t.TempDir()
			args := []string{"-out", filepath.Join(dir, "feed"), "-summary", filepath.Join(dir, "summary"), "-timeout", "200ms",
				"-url", "http://me:seedPassword@" + host + "/", "-url", "http://tokenUser@localhost:1/", "-url", "http://me:deadSeed@" + dead + "/",
				"-auth", "http://127.0.0.1:1=me:authPassword", "-auth", "nowhere.example=me:authNowhere", "-auth", "https://" + host + "=me:authOrigin"}
			args = append(args, tt.flags...)
			if i := slices.Index(args, "job"); i >= 0 {
				args[i] = filepath.Join(dir, "job")
			}
			var stdout, stderr bytes.Buffer
			if code := run(args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
			if text := append(stdout.Bytes(), stderr.Bytes()...); len(found(text)) > 0 {
				t.Errorf("%q are told: %s", found(text), text)
			}
			fetched := tt.code == exitFinished && !slices.Contains(tt.flags, "-domains")
			if fetched && loggedIn.Load() != 1 {
				t.Errorf("the page behind the login was fetched %d times", loggedIn.Load())
			}
			feed := stdout.String()
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if entry.Name() == "feed" {
					feed += string(text)
				}
				all := found(text)
				if tt.code == exitStopped && strings.HasPrefix(path, filepath.Join(dir, "job")) {
					all = slices.DeleteFunc(all, func(s string) bool { return s == "loginCookie" }) // the job goes on with its cookies
				}
				if len(all) > 0 {
					t.Errorf("%s has %q: %s", path, all, text)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			for _, path := range []string{"/", "/away", "/linked", "/token", "/dir/based", "/refreshed"} {
				if line := fmt.Sprintf(`{"url":"%s%s"`, server.URL, path); fetched && strings.Count(feed, line) != 1 {
					t.Errorf("the feed has not once %s: %s", line, feed)
				}
			}
			if line := fmt.Sprintf(`{"url":"%[1]s/away","final_url":"%[1]s/there"`, server.URL); fetched && !strings.Contains(feed, line) {
				t.Errorf("the feed has not %s: %s", line, feed)
			}
		})
	}
}

// No mistake of the command line repeats a password. It fails if a message about -url, -domains, -auth or a stray argument prints
// what it is about.
func TestMistakesRevealNoSecret(t *testing.T) {
	const ok = "-url http://example.com/ "
	for _, args := range []string{
		"-url http://me:seedPassword@%zz/", "-url http://me:seed/seedPassword@a.example/", "-url ftp://me:seedPassword@a.example/",
		"-url me:seedPassword@a.example", "-url http://me:seedPassword@/", ok + "http://me:seedPassword@a.example/",
		ok + "-depth http://me:seedPassword@a.example/", ok + "-domains http://me:seedPassword@a.example/", ok + "-domains a.example,me:a,seedPassword@a.example",
		"-url http://me:seedPassword@a.example/ -url http://me:other@a.example/", ok + "-auth me:seedPassword", ok + "-auth seedPassword",
		ok + "-auth me:seedPassword=a.example", ok + "-auth me:seedPassword=a.example:80", ok + "-auth http://me:seedPassword@a.example=me:x",
		ok + "-auth ftp://a.example=me:seedPassword", ok + "-auth a.example=m\x01e:seedPassword", ok + "-auth a.example=me:x -auth a.example=me:seedPassword",
		ok + "-unknown=http://me:seedPassword@a.example/",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitFailed || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q", args, code, &stdout)
		}
		if strings.Contains(stderr.String(), "seedPassword") {
			t.Errorf("%s: %s", args, &stderr)
		}
	}
}

// A login names its host or its origin, and one that belongs to no -url says where it is used. It fails if addAuth compares
// hosts as they are written, or gives no warning.
func TestLoginsByOrigin(t *testing.T) {
	for _, tt := range []struct {
		urls, auth string
		want       string // the origins with a login
		warned     bool
	}{
		{"http://a.example/", "a.example=me:x", "http://a.example", false},
		{"http://a.example/x https://A.example/", "A.EXAMPLE=me:x", "http://a.example https://a.example", false},
		{"http://a.example:80/", "a.example=me:x", "http://a.example", false},
		{"http://a.example:8080/", "a.example:8080=me:x", "http://a.example:8080", false},
		{"http://a.example:8080/", "http://a.example:8080=me:x", "http://a.example:8080", false},
		{"http://a.example:8080/", "HTTP://A.example:8080/=me:x=y:z@/", "http://a.example:8080", false},
		{"http://[::1]:8080/", "[::1]:8080=me:x", "http://[::1]:8080", false},
		{"http://bücher.example/", "xn--bcher-kva.example=me:x", "http://xn--bcher-kva.example", false},
		{"http://a.example:8080/", "a.example=me:x", "https://a.example", true},
		{"http://a.example/", "b.example=me:x", "https://b.example", true},
		{"http://a.example/", "https://a.example=me:x", "https://a.example", true},
		{"http://a.example/", "http://b.example:99=me:x", "http://b.example:99", true},
		{"http://me:x@a.example/", "a.example=me:x", "http://a.example", false},
		{"http://me:x@a.example/ https://a.example/", "https://a.example=you:x", "http://a.example https://a.example", false},
	} {
		o := &options{urls: strings.Fields(tt.urls)}
		err := o.login([]string{tt.auth})
		if err != nil || len(o.warnings) > 0 != tt.warned {
			t.Errorf("-url %s -auth %s: %v, warnings %q", tt.urls, tt.auth, err, o.warnings)
			continue
		}
		for _, warning := range o.warnings {
			if !strings.Contains(warning, tt.want) || strings.Contains(warning, "me:x") {
				t.Errorf("-auth %s: %s", tt.auth, warning)
			}
		}
		var got []string
		for _, origin := range []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://[::1]:8080",
			"http://xn--bcher-kva.example", "https://b.example", "http://b.example:99"} {
			if loginAt(t, o, origin) {
				got = append(got, origin)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("-url %s -auth %s: logins at %q, want %s", tt.urls, tt.auth, got, tt.want)
		}
	}
}

// loginAt reports whether a request to an origin gets a login.
func loginAt(t *testing.T, o *options, origin string) bool {
	t.Helper()
	r := tegenaria.NewRequest(origin+"/page", tegenaria.GET, nil)
	if err := o.auth.ProcessRequest(tegenaria.NewContext(r)); err != nil {
		t.Fatal(err)
	}
	return r.Header["Authorization"] != ""
}
