package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/dashboard"
)

// routes are all routes of a board, and what each answers to those who may ask while no crawl runs.
var routes = []struct {
	method, path, body string
	control            bool
	status             int
}{
	{"GET", "/hosts", "", false, 200},
	{"GET", "/failures", "", false, 200},
	{"GET", "/items", "", false, 200},
	{"GET", "/runs", "", false, 200},
	{"GET", "/callbacks", "", false, 200},
	{"GET", "/url", "", false, 200},
	{"GET", "/url?u=http%3A%2F%2Fa.test%2F", "", false, 200},
	{"GET", "/url?u=ftp%3A%2F%2Fa.test%2F", "", false, 400},
	{"GET", "/log", "", false, 200},
	{"GET", "/log?level=all", "", false, 400},
	{"GET", "/settings", "", false, 200},
	{"POST", "/pause", "", true, 409},
	{"POST", "/resume", "", true, 409},
	{"POST", "/stop", "", true, 409},
	{"POST", "/concurrency", "concurrency=3", true, 409},
	{"POST", "/concurrency/reset", "", true, 409},
	{"POST", "/hosts", "host=a.test&field=delay&value=2s", true, 409},
	{"POST", "/hosts", "host=a.test&field=reset", true, 409},
	{"POST", "/hosts", "host=a.test&field=forgive", true, 409},
	{"GET", "/api/v1/failures", "", false, 200},
	{"GET", "/api/v1/url?u=http%3A%2F%2Fa.test%2F", "", false, 200},
	{"GET", "/api/v1/url?u=ftp%3A%2F%2Fa.test%2F", "", false, 400},
	{"GET", "/api/v1/url", "", false, 400},
	{"GET", "/api/v1/items", "", false, 200},
	{"GET", "/api/v1/runs", "", false, 200},
	{"GET", "/api/v1/callbacks", "", false, 200},
	{"GET", "/api/v1/log?level=warning", "", false, 200},
	{"GET", "/api/v1/log?level=all", "", false, 400},
	{"GET", "/api/v1/settings", "", false, 200},
	{"GET", "/api/v1/changes", "", false, 200},
	{"GET", "/api/v1/view-token", "", true, 200},
	{"GET", "/api/v1/run", "", false, 200},
	{"GET", "/api/v1/hosts", "", false, 200},
	{"GET", "/api/v1/hosts?n=1001", "", false, 400},
	{"GET", "/metrics", "", false, 200},
	{"POST", "/api/v1/pause", "", true, 409},
	{"POST", "/api/v1/resume", "", true, 409},
	{"POST", "/api/v1/stop", "", true, 409},
	{"PATCH", "/api/v1/settings", `{"concurrency": 3}`, true, 409},
	{"PATCH", "/api/v1/settings", `{"concurrence": 3}`, true, 400},
	{"DELETE", "/api/v1/settings/concurrency", "", true, 409},
	{"PATCH", "/api/v1/hosts/a.test", `{"delay": "2s"}`, true, 409},
	{"PATCH", "/api/v1/hosts/a.test", `{"delay": "2"}`, true, 400},
	{"PATCH", "/api/v1/hosts/a.test", `{}`, true, 400},
	{"DELETE", "/api/v1/hosts/a.test", "", true, 409},
	{"POST", "/api/v1/hosts/a.test/forgive", "", true, 409},
	{"POST", "/api/v1/requests", `{"urls": ["http://a.test/"]}`, true, 200},
	{"POST", "/api/v1/requests", `{"urls": []}`, true, 400},
}

// Each route is open to those alone who have the token for it, and to no other site.
func TestAccess(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "tegenaria_run_paused 0\n") })
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{Metrics: metrics})
	defer board.Close()
	server := httptest.NewServer(board)
	defer server.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for _, route := range routes {
		forControl := func(allowed int) int {
			if route.control {
				return allowed
			}
			return route.status
		}
		for _, who := range []struct {
			name, token string
			edit        func(*http.Request)
			want        int
		}{
			{"no token", "", nil, 401},
			{"a wrong token", dashboard.NewToken(), nil, 401},
			{"the token to view", board.ViewToken(), nil, forControl(403)},
			{"the token to control", board.ControlToken(), nil, route.status},
			{"another site", board.ControlToken(), func(r *http.Request) {
				r.Header.Set("Origin", "https://evil.example")
				r.Header.Set("Sec-Fetch-Site", "cross-site")
			}, map[bool]int{true: route.status, false: 403}[route.method == "GET"]}, // which cannot read the answer
			{"another name", board.ControlToken(), func(r *http.Request) { r.Host = "evil.example" }, 421},
		} {
			for _, by := range []string{"header", "parameter", "cookie"} {
				r, err := http.NewRequest(route.method, server.URL+route.path, strings.NewReader(route.body))
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(route.body, "{") {
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				switch {
				case who.token == "":
				case by == "header":
					r.Header.Set("Authorization", "Bearer "+who.token)
				case by == "parameter":
					q := r.URL.Query()
					q.Set("token", who.token)
					r.URL.RawQuery = q.Encode()
				case by == "cookie":
					r.AddCookie(&http.Cookie{Name: "tegenaria_" + r.URL.Port(), Value: who.token})
				}
				if who.edit != nil {
					who.edit(r)
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if who.want < 401 && by == "parameter" && route.method == "GET" && !strings.HasPrefix(route.path, "/api/") && route.path != "/metrics" {
					if cookie := resp.Header.Get("Set-Cookie"); resp.StatusCode != 303 || resp.Header.Get("Location") != route.path ||
						!strings.Contains(cookie, who.token) || !strings.Contains(cookie, "HttpOnly; SameSite=Strict") {
						t.Errorf("%s by a token in the address: %d, to %q, cookie %q", route.path, resp.StatusCode, resp.Header.Get("Location"), cookie)
					}
					continue
				}
				if resp.StatusCode != who.want {
					t.Errorf("%s %s, %s by %s: %d %s, want %d", route.method, route.path, who.name, by, resp.StatusCode, body, who.want)
				}
				if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") {
					t.Errorf("%s %s: the policy is %q", route.method, route.path, policy)
				}
			}
		}
	}
}

// Without a handler there are no metrics.
func TestNoMetrics(t *testing.T) {
	board := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
	defer board.Close()
	r, answer := httptest.NewRequest("GET", "/metrics", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer "+board.ViewToken())
	if board.ServeHTTP(answer, r); answer.Code != http.StatusNotFound {
		t.Errorf("metrics that there are not are answered with %d: %s", answer.Code, answer.Body)
	}
}

// The token to view is another one, and is the same whenever the token to control is.
func TestTokens(t *testing.T) {
	first, again := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{}), dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{})
	if first.ControlToken() == again.ControlToken() || len(first.ControlToken()) != 43 {
		t.Errorf("tokens are %q and %q", first.ControlToken(), again.ControlToken())
	}
	same := dashboard.New(tegenaria.NewSpiderEngine(), dashboard.Options{Token: first.ControlToken()})
	if same.ViewToken() != first.ViewToken() || first.ViewToken() == first.ControlToken() || first.ViewToken() == again.ViewToken() {
		t.Errorf("tokens to view are %q, %q and %q", first.ViewToken(), same.ViewToken(), again.ViewToken())
	}
}
