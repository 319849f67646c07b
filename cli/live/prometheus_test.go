package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

var (
	prometheusPath = flag.String("prometheus", "", "the program of Prometheus, /usr/bin/prometheus; without it the test with it is skipped")
	promtoolPath   = flag.String("promtool", "promtool", "the program promtool")
)

// book is an item of the library below.
type book struct {
	Title string `css:"h1"`
	Price string `css:".price,omitempty"`
}

// picky is a pipeline that drops the books without a price.
type picky struct{}

func (picky) GetPriority() int { return 0 }

func (picky) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	if item.Item.(book).Price == "" {
		return tegenaria.DropItem(errors.New("no price"))
	}
	return nil
}

// library is a spider of a site that has no end: books, some without a price, broken links, and pages that are asked for again.
// answers counts what the site answers, except robots.txt.
func library(t *testing.T) (spider tegenaria.SpiderInterface, answers *atomic.Int64) {
	answers = new(atomic.Int64)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil { // robots.txt
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answers.Add(1)
		if n%7 == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `<h1>%d</h1><a href="/%d">x</a><a href="/%d">x</a>`, n, 2*n, 2*n+1)
		if n%3 != 0 {
			io.WriteString(w, `<p class=price>3</p>`)
		}
	}))
	t.Cleanup(site.Close)
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[book]) error {
		var b book
		if err := r.Unmarshal(&b); err != nil {
			return err
		}
		if strings.HasSuffix(b.Title, "5") {
			return tegenaria.Retry(time.Second, errors.New("not ready"))
		}
		return errors.Join(out.Item(b), out.FollowLinks())
	})
	return tegenaria.NewSpider("library", parser, site.URL+"/1"), answers
}

// prometheus is a server of Prometheus that scrapes a crawl.
type prometheus struct {
	t    *testing.T
	root string
}

// startPrometheus starts a server with a configuration.
func startPrometheus(t *testing.T, config string) *prometheus {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	var log bytes.Buffer
	server := exec.Command(*prometheusPath, "--config.file="+config, "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+address)
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("Prometheus: %s", &log)
		}
	})
	return &prometheus{t, "http://" + address}
}

var plainClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// get asks the API of the server, and returns the field data of its answer.
func (p *prometheus) get(path string, to any) error {
	resp, err := plainClient.Get(p.root + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: to}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %d, %w", path, resp.StatusCode, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s: %s", path, answer.Status, answer.Error)
	}
	return nil
}

// query answers an expression: the values of its series.
func (p *prometheus) query(expression string) (values []float64, err error) {
	var found struct {
		Result []struct{ Value [2]any }
	}
	if err := p.get("/api/v1/query?query="+url.QueryEscape(expression), &found); err != nil {
		return nil, err
	}
	for _, one := range found.Result {
		v, err := strconv.ParseFloat(one.Value[1].(string), 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// until waits until a condition holds, and fails the test with the last reason if it does not within a minute.
func until(t *testing.T, holds func() error) {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	end := time.After(time.Minute)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-end:
			t.Fatal(err)
		}
	}
}

// promtool runs promtool with a text at its input.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), *promtoolPath, args...)
	c.Stdin = strings.NewReader(input)
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```")

// A server of Prometheus, configured as the guide says, scrapes a crawl. Each expression of the dashboard has an answer, the rules for
// alerts are read, and what they fire at is what their test says. When the crawl is paused, the responses are those of the site's count.
func TestPrometheus(t *testing.T) {
	if *prometheusPath == "" {
		t.Skip("no Prometheus: run this test with -args -prometheus /usr/bin/prometheus")
	}
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(docs, "observability", "rules.yml")
	promtool(t, "", "check", "rules", rules)
	promtool(t, "", "test", "rules", "testdata/rules_test.yml")
	block := yamlBlock.FindStringSubmatch(readText(t, filepath.Join(docs, "guides", "metrics.md")))
	dashboard := readText(t, filepath.Join(docs, "observability", "grafana.json"))
	if block == nil {
		t.Fatal("the guide has no configuration")
	}

	folder := t.TempDir()
	token := filepath.Join(folder, "crawl.token")
	spider, answers := library(t)
	setup := func(*cli.Run) ([]tegenaria.EngineOption, error) {
		return []tegenaria.EngineOption{tegenaria.EngineWithFieldCounts(true), tegenaria.EngineWithPipelines(picky{})}, nil
	}
	app, address, end := crawlOf(t, spider, setup, "--listen", "127.0.0.1:0", "--listen-token", token, "-s", "politeness.delay=20ms")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "prometheus.yml")
	text := strings.NewReplacer("127.0.0.1:9464", u.Host, "crawl.token", token, "rules.yml", rules).Replace(block[1])
	if err := os.WriteFile(config, []byte("global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "config", config)
	server := startPrometheus(t, config)

	expressions := 0
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(dashboard), &board); err != nil {
		t.Fatal(err)
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expressions++
			expression := strings.NewReplacer("$__rate_interval", "10s", "$instance", ".*").Replace(target.Expr)
			until(t, func() error {
				values, err := server.query(expression)
				if err == nil && len(values) == 0 {
					err = fmt.Errorf("%s: %s has no data", panel.Title, expression)
				}
				return err
			})
		}
	}
	until(t, func() error {
		var found struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError, Query string }
			}
		}
		if err := server.get("/api/v1/rules", &found); err != nil {
			return err
		}
		alerts := 0
		for _, group := range found.Groups {
			for _, rule := range group.Rules {
				alerts++
				if rule.Health != "ok" {
					return fmt.Errorf("the rule %s is %s: %s", rule.Name, rule.Health, rule.LastError)
				}
				if _, err := server.query(rule.Query); err != nil {
					return err
				}
			}
		}
		if want := strings.Count(readText(t, rules), "- alert:"); alerts != want {
			return fmt.Errorf("there are %d rules, want %d", alerts, want)
		}
		return nil
	})
	t.Logf("%d expressions of the dashboard have data", expressions)

	ctl := func(action string) {
		t.Helper()
		var said strings.Builder
		if code := app.Run(t.Context(), []string{"ctl", address, action}, nil, &said, &said); code != 0 {
			t.Errorf("ctl %s: exit code %d: %s", action, code, &said)
		}
	}
	ctl("pause")
	until(t, func() error {
		for expression, want := range map[string]float64{
			"tegenaria_run_paused":                       1,
			"sum(tegenaria_responses_total)":             float64(answers.Load()),
			`tegenaria_requests_open{state="in_flight"}`: 0,
			"sum(tegenaria_requests_total)+sum(tegenaria_requests_open)-sum(tegenaria_requests_discovered_total)": 0,
		} {
			values, err := server.query(expression)
			if err != nil || len(values) != 1 || values[0] != want {
				return fmt.Errorf("%s: %v, want %v (%v)", expression, values, want, err)
			}
		}
		return nil
	})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+u.Host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(readText(t, token)))
	resp, err := plainClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the metrics: %d, %v", resp.StatusCode, err)
	}
	promtool(t, string(metrics), "check", "metrics")
	ctl("stop")
	end()
}
