package cli_test

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
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria/cli"
)

// secrets are planted everywhere that a crawl may meet one. Each is a name for where it was.
var secrets = []string{
	"seedPassword", "tokenUser", "deadSeed", "authPassword", "authOrigin", "wrongPassword", "loginCookie",
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

// No secret is in what a crawl of URLs writes, with or without a job, to its end or stopped before, nor in the job's
// store but for its cookies while it is not done. It fails if the lines have URLs as pages write them, or if the logins
// of URLs stay in these.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel() // it waits for what is tried again
	for _, tt := range []struct {
		name  string
		flags []string
		code  int
	}{
		{"without a job", []string{"-O", "feed"}, 0},
		{"with sitemaps", []string{"-O", "feed", "--sitemaps"}, 0},
		{"with a job", []string{"-O", "feed", "--job", "job", "--sitemaps"}, 0},
		{"with a job that is stopped", []string{"-O", "feed", "--job", "job", "--sitemaps", "--limit", "pages=4"}, 3},
		{"to stdout", nil, 0},
		{"nothing fetched", []string{"-O", "feed", "--domains", "127.0.0.2"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they wait for what is tried again
			server, dead, loggedIn := planted(t)
			host := strings.TrimPrefix(server.URL, "http://")
			settings := noSettings(t)
			dir := filepath.Dir(settings)
			args := []string{"crawl", "http://me:seedPassword@" + host + "/", "http://tokenUser@localhost:1/", "http://me:deadSeed@" + dead + "/",
				"--config", settings, "--timeout", "200ms", "--result", filepath.Join(dir, "result"), "--auth", "http://127.0.0.1:1=me:authPassword", "--auth", "https://" + host + "=me:authOrigin"}
			for _, flag := range tt.flags {
				switch flag {
				case "feed":
					flag = filepath.Join(dir, "feed.jsonl")
				case "job":
					flag = filepath.Join(dir, "job")
				}
				args = append(args, flag)
			}
			var stdout, stderr bytes.Buffer
			if code := cli.New().Run(t.Context(), args, nil, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
			if text := append(stdout.Bytes(), stderr.Bytes()...); len(found(text)) > 0 {
				t.Errorf("%q are told: %s", found(text), text)
			}
			fetched := tt.code == 0
			if fetched && loggedIn.Load() != 1 {
				t.Errorf("the page behind the login was fetched %d times", loggedIn.Load())
			}
			feed := stdout.String()
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				if entry.Name() == "feed.jsonl" {
					feed += string(text)
				}
				all := found(text)
				if tt.code == 3 && strings.HasPrefix(path, filepath.Join(dir, "job")) {
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

// No mistake of the command line repeats a password. It fails if a message about a URL, --domains, --auth or a stray argument prints what
// it is about.
func TestMistakesRevealNoSecret(t *testing.T) {
	const ok = "http://example.com/ "
	for _, args := range []string{
		"http://me:seedPassword@%zz/", "http://me:seed/seedPassword@a.example/", "ftp://me:seedPassword@a.example/",
		"me:seedPassword@a.example", "http://me:seedPassword@/", ok + "me:seedPassword@a.example/",
		ok + "--depth http://me:seedPassword@a.example/", ok + "--domains http://me:seedPassword@a.example/", ok + "--domains a.example,me:a,seedPassword@a.example",
		"http://me:seedPassword@a.example/ http://me:other@a.example/", ok + "--auth me:seedPassword", ok + "--auth seedPassword",
		ok + "--auth me:seedPassword=a.example", ok + "--auth http://me:seedPassword@a.example=me:x", ok + "--auth ftp://a.example=me:seedPassword",
		ok + "--auth http://a.example=m\x01e:seedPassword", ok + "--auth http://a.example=me:x --auth http://a.example=me:seedPassword",
		ok + "--unknown=http://me:seedPassword@a.example/",
	} {
		var stdout, stderr bytes.Buffer
		code := cli.New().Run(t.Context(), append([]string{"crawl", "--ignore-robots"}, strings.Fields(args)...), nil, &stdout, &stderr)
		if code != 2 || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, &stdout, &stderr)
		}
		if strings.Contains(stderr.String(), "seedPassword") {
			t.Errorf("%s: %s", args, &stderr)
		}
	}
}

// A login is sent to its origin and nowhere else, and one that belongs to no URL is said.
func TestSiteLogins(t *testing.T) {
	var mu sync.Mutex // guards seen
	seen := make(map[string]string)
	server := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			mu.Lock()
			defer mu.Unlock()
			seen[name+r.URL.Path] = user + password
		}))
		t.Cleanup(s.Close)
		return s
	}
	one, two := server("one"), server("two")
	for _, tt := range []struct {
		auth, one string
		unused    bool
	}{
		{one.URL + "=me:a:b=c@/", "mea:b=c@/", false},
		{strings.Replace(one.URL, "http", "HTTP", 1) + "/=me:a", "mea", false},
		{strings.Replace(one.URL, "http", "https", 1) + "=me:a", "", true},
		{"http://elsewhere.example=me:a", "", true},
	} {
		clear(seen)
		var stdout, stderr bytes.Buffer
		args := []string{"crawl", "--quiet", one.URL + "/", two.URL + "/", "--auth", tt.auth, "--config", noSettings(t)}
		code := cli.New().Run(t.Context(), args, nil, &stdout, &stderr)
		if code != 0 || seen["one/"] != tt.one || seen["two/"] != "" || strings.Count(stdout.String(), "\n") != 2 {
			t.Errorf("--auth %s: exit code %d, the servers saw %q: %s%s", tt.auth, code, seen, &stdout, &stderr)
		}
		if unused := strings.HasPrefix(stderr.String(), "tegenaria: --auth: no URL is at "); unused != tt.unused || strings.Contains(stderr.String(), "me:a") {
			t.Errorf("--auth %s: %s", tt.auth, &stderr)
		}
	}
}
