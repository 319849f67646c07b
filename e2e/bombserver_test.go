package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// bombServer serves bombs and good pages on loopback, each bomb of each step on an address of its own, so that those of
// a step are asked for at the same time.
//
//	/good/N   a good page
//	/calm/N   a page that links to the next one, and to what the child shall ask for; it takes calmPause
//	/bomb/N   the bomb of the address
type bombServer struct {
	base  *httptest.Server // good and calm pages
	steps []hostedStep

	mu    sync.Mutex // guards the fields below
	asked map[string]int
	next  []string // lines of links that the next calm page has
	done  bool     // the next calm page is the last
}

// hostedStep is a step with the addresses of its bombs.
type hostedStep struct {
	bombStep
	hosts []*httptest.Server
	goods []string // URLs
}

// calmPause is the time that a calm page takes.
const calmPause = 50 * time.Millisecond

// serveBombs starts the server for these steps, which ends with the test.
func serveBombs(t *testing.T, steps []bombStep) *bombServer {
	t.Helper()
	s := &bombServer{asked: make(map[string]int)}
	s.base = serveOn(t, "127.0.0.1:0", s.good)
	number := 0
	for i, step := range steps {
		hosted := hostedStep{bombStep: step, goods: s.goods(strconv.Itoa(i))}
		for _, kind := range step.kinds {
			hosted.hosts = append(hosted.hosts, serveOn(t, bombAddress(number)+":0",
				func(w http.ResponseWriter, r *http.Request) { s.bomb(kind, w, r) }))
			number++
		}
		s.steps = append(s.steps, hosted)
	}
	return s
}

// bombAddresses is how many addresses there are for bombs.
const bombAddresses = 2000

// bombAddress is one of them.
func bombAddress(n int) string {
	n %= bombAddresses
	return fmt.Sprintf("127.0.%d.%d", 1+n/200, 1+n%200)
}

func serveOn(t *testing.T, address string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// goodPage is what a good path answers with: some text and some links.
func goodPage(path string) string {
	return "<!doctype html><title>Page " + path + "</title>" + strings.Repeat("<p>Some words of a <em>good</em> page, with <a href='/other'>a link</a>.</p>\n", 200)
}

func (s *bombServer) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked["http://"+r.Host+r.URL.Path]++
}

// times returns how often a URL was asked for.
func (s *bombServer) times(url string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[url]
}

func (s *bombServer) good(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", htmlUTF8)
	if n, ok := strings.CutPrefix(r.URL.Path, "/calm/"); ok {
		pause := time.NewTimer(calmPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-r.Context().Done():
			return
		}
		number, _ := strconv.Atoi(n)
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprint(w, "<!doctype html><title>calm</title>\n", strings.Join(s.next, "\n"))
		if s.next = nil; !s.done {
			fmt.Fprintf(w, "<a href=/calm/%d>next</a>", number+1)
		}
		return
	}
	fmt.Fprint(w, goodPage(r.URL.Path))
}

func (s *bombServer) bomb(kind bombKind, w http.ResponseWriter, r *http.Request) {
	s.note(r)
	isRobots := r.URL.Path == "/robots.txt"
	switch {
	case isRobots && !kind.robots:
		http.NotFound(w, r)
		return
	case kind.query:
		kind.header(w.Header(), 0)
	case kind.header != nil:
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/bomb/"))
		kind.header(w.Header(), n)
		fallthrough
	case !isRobots && kind.robots:
		w.Header().Set("Content-Type", htmlUTF8)
		fmt.Fprint(w, goodPage(r.URL.Path))
		return
	}
	w.Header().Set("Content-Type", kind.media)
	if coding := kind.contentEncoding(); coding != "" {
		w.Header().Set("Content-Encoding", coding)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(kind.packed())))
	w.Write(kind.packed())
}

// bombs returns the URLs of the bombs of a step.
func (s hostedStep) bombs() (urls []string) {
	for i, host := range s.hosts {
		for n := range max(s.kinds[i].asks, 1) {
			urls = append(urls, fmt.Sprintf("%s/bomb/%d", host.URL, n))
		}
	}
	return urls
}

// goods returns the URLs of good pages.
func (s *bombServer) goods(name string) (urls []string) {
	for i := range goodPages {
		urls = append(urls, fmt.Sprintf("%s/good/%s/%d", s.base.URL, name, i))
	}
	return urls
}

// link has the next calm page link to URLs.
func (s *bombServer) link(class string, urls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, url := range urls {
		s.next = append(s.next, fmt.Sprintf("<a class=%s href=%s></a>", class, url))
	}
}

// linkStep has the next calm page link to the bombs and the good pages of a step.
func (s *bombServer) linkStep(step hostedStep) {
	for i, host := range step.hosts {
		step.kinds[i].packed() // before the clock runs
		for n := range max(step.kinds[i].asks, 1) {
			s.link("ask"+step.kinds[i].as, fmt.Sprintf("%s/bomb/%d", host.URL, n))
		}
	}
	s.link("ask", step.goods...)
}

// begin lets calm pages go on for another child.
func (s *bombServer) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.next = false, nil
}

// end makes the next calm page the last.
func (s *bombServer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}
