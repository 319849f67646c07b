package forms_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/selector"
)

var browser = flag.String("browser", "", "the path of Chromium, /usr/bin/chromium")

var boundary = regexp.MustCompile(`boundary=([^;\s]+)`)

// sent writes a request as the server has it, the boundary replaced.
func sent(method, target, contentType string, body []byte) string {
	text := string(body)
	if m := boundary.FindStringSubmatch(contentType); m != nil {
		contentType = strings.ReplaceAll(contentType, m[1], "BOUNDARY")
		text = strings.ReplaceAll(text, m[1], "BOUNDARY")
	}
	return fmt.Sprintf("%s %s\n%s\n%q", method, target, contentType, text)
}

// submission fills in the form of a case and returns what is sent, as the server would see it.
func submission(c *browserCase, docURL string) (string, error) {
	label := c.charset
	if label == "" {
		label = "utf-8"
	}
	text, encoding, _ := charset.Decode([]byte(c.page), "text/html; charset="+label)
	query := c.form
	if query == "" {
		query = "form"
	}
	form, err := forms.Of(selector.Parse(text).CSS(query).Nodes()[0], docURL, forms.Charset(encoding))
	if err != nil {
		return "", err
	}
	if c.fill != nil {
		c.fill(form)
	}
	s, err := form.Submit()
	if err != nil {
		return "", err
	}
	var contentType string
	var body []byte
	if s.Body != nil {
		contentType = s.Body.Type
		if body, err = io.ReadAll(s.Body.Reader()); err != nil {
			return "", err
		}
		if int64(len(body)) != s.Body.Len() {
			return "", fmt.Errorf("Len is %d, the body has %d bytes", s.Body.Len(), len(body))
		}
	}
	r, err := http.NewRequest(s.Method, s.URL, nil)
	if err != nil {
		return "", err
	}
	return sent(s.Method, r.URL.RequestURI(), contentType, body), nil
}

// Each form, sent by a real browser and by us, is the same to the server, byte for byte.
func TestBrowser(t *testing.T) {
	if *browser == "" {
		t.Skip("no browser: run this test with -args -browser /usr/bin/chromium")
	}
	got := make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/page/"); ok && r.Method == "GET" {
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(browserCases) {
				http.NotFound(w, r)
				return
			}
			c := &browserCases[n]
			label := c.charset
			if label == "" {
				label = "utf-8"
			}
			w.Header().Set("Content-Type", "text/html; charset="+label)
			io.WriteString(w, c.page)
			return
		}
		if r.URL.Path == "/favicon.ico" {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusNoContent)
		got <- sent(r.Method, r.RequestURI, r.Header.Get("Content-Type"), body)
	}))
	defer site.Close()
	ctx := tab(t)
	different := 0
	for i := range browserCases {
		c := &browserCases[i]
		docURL := fmt.Sprintf("%s/page/%d", site.URL, i)
		script := c.script
		if script == "" {
			script = "(document.querySelector('[type=submit], button:not([type=button]):not([type=reset])') || {click() { document.querySelector('form').submit() }}).click()"
		}
		want := act(t, ctx, docURL, script, got)
		have, err := submission(c, docURL)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		switch {
		case c.differs != "" && want == c.differs:
			different++
		case c.differs != "":
			t.Errorf("%s: the browser sends now\n%s", c.name, want)
		case have != want:
			t.Errorf("%s:\nwe send\n%s\nthe browser sends\n%s", c.name, have, want)
		}
	}
	t.Logf("%d forms are equal, %d differ where the browser goes against the standard", len(browserCases)-different, different)
	if len(browserCases)-different < 60 {
		t.Errorf("only %d forms", len(browserCases)-different)
	}
}

// act opens a page, runs a script there and returns what the server received then.
func act(t *testing.T, ctx context.Context, url, script string, got <-chan string) string {
	t.Helper()
	err := errors.New("not opened")
	for try := 0; try < 5 && err != nil; try++ { // what the form before has begun may end the first try
		err = chromedp.Do(ctx, chromedp.Navigate(url))
	}
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	if place, ok := strings.CutPrefix(script, "mouse "); ok {
		var x, y float64
		if _, err := fmt.Sscan(place, &x, &y); err != nil {
			t.Fatal(err)
		}
		err = chromedp.Do(ctx, chromedp.MouseClickXY(x, y))
	} else {
		err = chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void]("setTimeout(() => {"+script+"}); undefined"))
	}
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	select {
	case s := <-got:
		return s
	case <-time.After(10 * time.Second):
		return "nothing"
	}
}

// tab opens a tab of a browser that ends with the test. It runs no page but ours, so it does without its sandbox, which root cannot have.
func tab(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(end)
	ctx, endBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(*browser), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-US"))...)
	t.Cleanup(endBrowser)
	ctx, _ = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("ending the browser: %v", err)
		}
	})
	return ctx
}
