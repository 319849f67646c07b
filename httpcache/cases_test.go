package httpcache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/conformance"

	"github.com/tegenaria/tegenaria"
)

// suite, exchangeCase and exchange are the format of the file: a list of requests to the cache, with what the origin answers and
// what is expected.
type suite struct {
	ID    string
	Tests []exchangeCase
}

type exchangeCase struct {
	ID          string
	Kind        string   // required unless given
	DependsOn   []string `json:"depends_on"`
	CDNOnly     bool     `json:"cdn_only"`
	BrowserSkip bool     `json:"browser_skip"`
	Requests    []exchange
}

type exchange struct {
	Method    string  `json:"request_method"`
	Header    []field `json:"request_headers"`
	Body      string  `json:"request_body"`
	Query     string  `json:"query_arg"`
	Filename  string
	CacheMode string `json:"cache"`

	Status         []any   `json:"response_status"`
	ResponseHeader []field `json:"response_headers"`
	ResponseBody   *string `json:"response_body"`
	Pause          float64 `json:"response_pause"`
	Disconnect     bool
	MagicLocations bool     `json:"magic_locations"`
	MagicIMS       bool     `json:"magic_ims"`
	RFC850         []string `json:"rfc850date"`

	ExpectedType            string          `json:"expected_type"`
	ExpectedMethod          string          `json:"expected_method"`
	ExpectedStatus          json.RawMessage `json:"expected_status"`
	ExpectedRequest         []field         `json:"expected_request_headers"`
	ExpectedRequestMissing  []field         `json:"expected_request_headers_missing"`
	ExpectedResponse        []field         `json:"expected_response_headers"`
	ExpectedResponseMissing []field         `json:"expected_response_headers_missing"`
	ExpectedText            *string         `json:"expected_response_text"`
	ExpectedInterim         []any           `json:"expected_interim_responses"`
	CheckBody               *bool           `json:"check_body"`

	PauseAfter bool `json:"pause_after"`
	Setup      bool
	SetupTests []string `json:"setup_tests"`
}

// field is a header field: its name alone, or a name and a value, or a name and up to two things more.
type field []any

func (f *field) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		*f = field{name}
		return nil
	}
	var parts []any
	err := json.Unmarshal(data, &parts)
	*f = parts
	return err
}

func (f field) name() string { return f[0].(string) }

// exceptions are the cases that the verdict of TestCases does not depend on, by a property of the case.
var exceptions = []struct {
	why string
	is  func(exchangeCase) bool
}{
	{"cdn_only: it is for content delivery networks", func(c exchangeCase) bool { return c.CDNOnly }},
	{"browser_skip: it is for an intermediary", func(c exchangeCase) bool { return c.BrowserSkip }},
	{"partial: parts of responses are not stored", func(c exchangeCase) bool {
		return slices.ContainsFunc(c.Requests, func(e exchange) bool { return e.status() == http.StatusPartialContent })
	}},
}

// exception says why the verdict does not depend on a case, "" if it does.
func (c exchangeCase) exception() string {
	for _, e := range exceptions {
		if e.is(c) {
			return e.why
		}
	}
	return ""
}

// errSetup is a failure that says nothing about what the case is about.
var errSetup = errors.New("setup")

// TestCases plays the cases with the policy RFC9111, each request in a run of its own. It fails if a required case of a
// private cache fails; the others are counted. A case says nothing if its setup fails, or if it fails and depends on
// one that does not pass.
func TestCases(t *testing.T) {
	var suites []suite
	if err := json.Unmarshal(conformance.Read(t, "http-cache", "cases.json"), &suites); err != nil {
		t.Fatal(err)
	}
	verdicts := make(map[string]error)
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pause(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // the cases have dates of these years
		statuses := make([]int, 400)                                   // all: without Options.Statuses pages of errors are not stored
		for i := range statuses {
			statuses[i] = 200 + i
		}
		cache := opened(t, folder, httpcache.Options{Policy: httpcache.RFC9111, Statuses: statuses})
		for _, s := range suites {
			for _, c := range s.Tests {
				verdicts[c.ID] = c.run(t, cache)
			}
		}
	})
	counts := make(map[string]int)
	for _, s := range suites {
		for _, c := range s.Tests {
			t.Run(c.ID, func(t *testing.T) {
				kind, err := c.Kind, verdicts[c.ID]
				if kind == "" {
					kind = "required"
				}
				if why := c.exception(); why != "" {
					kind += ", " + why
				}
				for _, id := range c.DependsOn {
					if depends := verdicts[id]; depends != nil && err != nil {
						err = fmt.Errorf("%w: %s does not pass: %w", errSetup, id, err)
					}
				}
				switch {
				case err == nil:
					counts[kind+": passed"]++
				case errors.Is(err, errSetup):
					counts[kind+": says nothing"]++
					t.Logf("%s: %s", kind, err)
				case kind == "required":
					t.Error(err)
					fallthrough
				default:
					counts[kind+": failed"]++
					t.Logf("%s: %s", kind, err)
				}
			})
		}
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[line], line)
	}
	if optimal := counts["optimal: passed"] + counts["optimal: failed"]; optimal > 0 {
		t.Logf("%.1f %% of the optimal cases passed", 100*float64(counts["optimal: passed"])/float64(optimal))
	}
	if len(verdicts) == 0 {
		t.Error("the file has no cases")
	}
}

// caseRun is one run of a case: the client, and the origin with what it has seen.
type caseRun struct {
	exchangeCase
	number   int         // of the client's request, from 1
	received http.Header // what the client received last
	asked    []askedRequest
	sent     http.Header // what the origin sent last
}

type askedRequest struct {
	number int
	method string
	header http.Header
}

// run plays a case. An error is errSetup if the case says nothing.
func (c exchangeCase) run(t *testing.T, cache *httpcache.Cache) error {
	r := &caseRun{exchangeCase: c}
	for i, e := range c.Requests {
		r.number = i + 1
		resp, err := r.crawl(t, cache, r.request(e))
		var text []byte
		if err == nil {
			text, err = io.ReadAll(resp.Body)
		}
		if err != nil {
			resp = response(nil, 0, nil, nil) // expected_status null, or no response that would satisfy anything
		}
		r.received = resp.Header
		for _, check := range r.checks(e, resp, string(text)) {
			if check.failure == "" {
				continue
			}
			err := fmt.Errorf("request %d: %s", r.number, check.failure)
			if check.name == "" || e.Setup || slices.Contains(e.SetupTests, check.name) {
				err = fmt.Errorf("%w: %w", errSetup, err)
			}
			return err
		}
		if e.PauseAfter {
			pause(3 * time.Second)
		}
	}
	return nil
}

// crawl sends a request in a run of its own, and returns what its middlewares see. A request that is only-if-cached fails there where
// another cache answers 504.
func (r *caseRun) crawl(t *testing.T, cache *httpcache.Cache, req *http.Request) (*http.Response, error) {
	header := make(map[string]string)
	for name, values := range req.Header {
		header[name] = strings.Join(values, ", ")
	}
	opts := []tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(header), tegenaria.RequestWithAllowRedirects(false)}
	if body, _ := io.ReadAll(req.Body); len(body) > 0 { // of memory
		opts = append(opts, tegenaria.RequestWithBody(body))
	}
	s := sends(tegenaria.NewRequest(req.URL.String(), req.Method, nil, opts...))
	resp, err := response(req, http.StatusGatewayTimeout, nil, nil), error(nil)
	crawl(t, newSite(nil), cache, s, tegenaria.EngineWithHTTPClient(&http.Client{Transport: r}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{
			Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
				page := ctx.Response()
				resp = response(req, page.Status, page.Header, page.Bytes())
				return nil
			},
			Error: func(_ *tegenaria.Context, failure error, _ chan<- *tegenaria.Context) error {
				var refused *httpcache.NotStoredError
				if errors.As(failure, &refused) != (req.Header.Get("Cache-Control") == "only-if-cached") {
					err = failure
				}
				return failure
			},
		}))
	return resp, err
}

func response(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Request: r, Body: io.NopCloser(bytes.NewReader(body))}
}

// pause lets virtual time pass.
func pause(d time.Duration) { <-time.After(d) }

// request makes the request of the client.
func (r *caseRun) request(e exchange) *http.Request {
	url := "http://origin.example/" + r.ID
	if e.Filename != "" {
		url += "/" + e.Filename
	}
	if e.Query != "" {
		url += "?" + e.Query
	}
	method := e.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, url, strings.NewReader(e.Body))
	if err != nil {
		panic(err)
	}
	for _, f := range e.Header {
		from := time.Now()
		if e.MagicIMS && strings.EqualFold(f.name(), "If-Modified-Since") {
			from = serverNow(r.received)
		}
		req.Header.Add(f.name(), e.value(f, from))
	}
	switch e.CacheMode { // as the fetch API does
	case "no-cache":
		req.Header.Set("Cache-Control", "max-age=0")
	case "no-store", "reload":
		req.Header.Set("Cache-Control", "no-cache")
	case "only-if-cached":
		req.Header.Set("Cache-Control", "only-if-cached")
	case "force-cache":
		req.Header.Set("Cache-Control", "max-stale")
	}
	return req
}

// RoundTrip answers as the origin.
func (r *caseRun) RoundTrip(req *http.Request) (*http.Response, error) {
	e := r.Requests[r.number-1]
	pause(time.Duration(e.Pause * float64(time.Second)))
	r.asked = append(r.asked, askedRequest{r.number, req.Method, req.Header.Clone()})
	if e.Disconnect {
		return nil, io.ErrUnexpectedEOF // it has closed the connection
	}
	status := e.status()
	if strings.HasSuffix(e.ExpectedType, "_validated") {
		status = 999 // for a request that should have been conditional
		for condition, validator := range map[string]string{"If-None-Match": "ETag", "If-Modified-Since": "Last-Modified"} {
			if v := r.sent.Get(validator); v != "" && req.Header.Get(condition) == v {
				status = http.StatusNotModified
			}
		}
	}
	now := time.Now()
	header := http.Header{"Client-Request-Count": {strconv.Itoa(r.number)}, "Server-Request-Count": {strconv.Itoa(len(r.asked))},
		"Server-Now": {strconv.FormatInt(now.Unix(), 10)}}
	for _, f := range e.ResponseHeader {
		value := e.value(f, now)
		if name := strings.ToLower(f.name()); e.MagicLocations && (name == "location" || name == "content-location") {
			target := *req.URL
			if value != "" {
				target.Path += "/" + value
			}
			value = target.String()
		}
		header.Add(f.name(), value)
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain")
	}
	r.sent = header.Clone()
	var body []byte
	if req.Method != http.MethodHead && status != http.StatusNoContent && status != http.StatusNotModified {
		body = []byte(r.text(e))
	}
	return response(req, status, header, body), nil
}

func (e exchange) status() int {
	if len(e.Status) == 0 {
		return http.StatusOK
	}
	return int(e.Status[0].(float64))
}

// text is the body of an answer: what the case says, or one of the case's own.
func (r *caseRun) text(e exchange) string {
	if e.ResponseBody != nil {
		return *e.ResponseBody
	}
	return "the text of " + r.ID
}

// value is the value of a header field. A number is a date, so many seconds from a time.
func (e exchange) value(f field, from time.Time) string {
	seconds, ok := f[1].(float64)
	if !ok {
		return fmt.Sprint(f[1])
	}
	layout := http.TimeFormat
	if slices.Contains(e.RFC850, strings.ToLower(f.name())) {
		layout = "Monday, 02-Jan-06 15:04:05 GMT"
	}
	return from.Add(time.Duration(seconds) * time.Second).UTC().Format(layout)
}

// serverNow is the time at which the origin sent a response.
func serverNow(h http.Header) time.Time {
	seconds, _ := strconv.ParseInt(h.Get("Server-Now"), 10, 64)
	return time.Unix(seconds, 0)
}

// check is something that is expected. One without a name belongs to the setup of every case.
type check struct{ name, failure string }

// checks compares what the client has received and the origin has seen with what an exchange expects.
func (r *caseRun) checks(e exchange, resp *http.Response, text string) []check {
	var all []check
	expect := func(name string, ok bool, format string, args ...any) {
		if !ok {
			all = append(all, check{name, fmt.Sprintf(format, args...)})
		}
	}
	seen := slices.IndexFunc(r.asked, func(a askedRequest) bool { return a.number == r.number })
	asked := askedRequest{}
	if seen >= 0 {
		asked = r.asked[seen]
	}
	answered, err := strconv.Atoi(resp.Header.Get("Client-Request-Count")) // the number of the request that this answered at the origin
	switch e.ExpectedType {
	case "cached":
		expect("expected_type", err == nil && answered < r.number, "the response does not come from the cache")
	case "not_cached":
		expect("expected_type", answered == r.number, "the response comes from the cache")
	case "etag_validated":
		expect("expected_type", asked.header.Get("If-None-Match") != "", "the origin was not asked with If-None-Match")
	case "lm_validated":
		expect("expected_type", asked.header.Get("If-Modified-Since") != "", "the origin was not asked with If-Modified-Since")
	}
	switch status := 0; {
	case string(e.ExpectedStatus) == "null":
	case json.Unmarshal(e.ExpectedStatus, &status) == nil:
		expect("expected_status", resp.StatusCode == status, "the status is %d, not %d", resp.StatusCode, status)
	case resp.StatusCode == 999:
		expect("expected_type", false, "the validators that the origin was asked with are not those that it sent")
	default:
		expect("", resp.StatusCode == e.status(), "the status is %d, not %d", resp.StatusCode, e.status())
	}
	for _, f := range e.ExpectedResponse {
		got := strings.Join(resp.Header.Values(f.name()), ", ")
		switch {
		case len(f) == 1:
			expect("expected_response_headers", got != "", "the response has no %s", f.name())
		case len(f) == 2:
			want := e.value(f, serverNow(resp.Header))
			expect("expected_response_headers", got == want, "%s of the response is %q, not %q", f.name(), got, want)
		case f[1] == "=":
			want := resp.Header.Get(f[2].(string))
			expect("expected_response_headers", got == want, "%s of the response is %q, not %q as %s", f.name(), got, want, f[2])
		case f[1] == ">":
			n, err := strconv.ParseFloat(got, 64)
			expect("expected_response_headers", err == nil && n > f[2].(float64), "%s of the response is %q, not above %v", f.name(), got, f[2])
		default:
			expect("expected_response_headers", false, "the file compares with %q, which this test does not know", f[1])
		}
	}
	for _, f := range e.ExpectedResponseMissing {
		got := strings.Join(resp.Header.Values(f.name()), ", ")
		if len(f) == 1 {
			expect("expected_response_headers_missing", got == "", "the response has %s: %q", f.name(), got)
		} else {
			expect("expected_response_headers_missing", !strings.Contains(got, fmt.Sprint(f[1])), "%s of the response is %q", f.name(), got)
		}
	}
	expect("expected_interim_responses", len(e.ExpectedInterim) == 0, "a cache above the downloader sees no interim responses")
	if e.ExpectedType != "cached" && seen >= 0 {
		for _, f := range e.ResponseHeader {
			if len(f) == 3 && f[2] == false {
				continue
			}
			want, got := r.sent.Values(f.name()), resp.Header.Values(f.name())
			expect("", slices.Equal(want, got), "%s of the response is %q, not %q", f.name(), got, want)
		}
	}
	for _, f := range e.ExpectedRequest {
		got := strings.Join(asked.header.Values(f.name()), ", ")
		expect("expected_request_headers", got != "" && (len(f) == 1 || got == f[1]), "%s at the origin is %q, not %q", f.name(), got, f[1:])
	}
	for _, f := range e.ExpectedRequestMissing {
		got := strings.Join(asked.header.Values(f.name()), ", ")
		expect("expected_request_headers_missing", got == "" || len(f) > 1 && got != f[1], "%s at the origin is %q", f.name(), got)
	}
	if e.ExpectedMethod != "" {
		expect("expected_method", asked.method == e.ExpectedMethod, "the method at the origin is %q, not %q", asked.method, e.ExpectedMethod)
	}
	switch none := e.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified; {
	case e.CheckBody != nil && !*e.CheckBody:
	case e.ExpectedText != nil:
		expect("expected_response_text", text == *e.ExpectedText, "the text is %q, not %q", text, *e.ExpectedText)
	case !none:
		expect("", text == r.text(e), "the text is %q, not %q", text, r.text(e))
	}
	return all
}
