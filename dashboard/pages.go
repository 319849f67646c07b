package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tegenaria/tegenaria/internal/report"
)

//go:embed assets
var assets embed.FS

// shown are funcs of the pages.
var shown = template.FuncMap{
	"count":  report.Count,
	"size":   report.Bytes,
	"share":  func(s float64) string { return strconv.FormatFloat(100*s, 'f', 1, 64) + " %" },
	"rate":   func(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) },
	"clock":  func(t time.Time) string { return t.Format(time.TimeOnly) },
	"moment": func(t time.Time) string { return t.Local().Format(time.DateTime) },
	"took":   func(d time.Duration) string { return d.Round(time.Second).String() },
	"until": func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return max(time.Until(*t), 0).Round(100 * time.Millisecond).String()
	},
	"curl": func(u string) string { return "curl --location '" + strings.ReplaceAll(u, "'", `'\''`) + "'" },
}

// plain returns a page whose characters that cannot be seen, and those that change the direction of others, are written out.
func plain(page string) string {
	hides := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(page, hides) < 0 {
		return page
	}
	var b strings.Builder
	for _, r := range page {
		if hides(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// view is what a page shows.
type view struct {
	Title     string
	Controls  bool   // its reader may change the crawl
	Problem   string // why a change was not made; "" if there was none
	Run       Run
	Running   bool
	Curve     Curve
	Hosts     []Host
	Failures  []Failures
	Changes   []Change
	Items     Items
	Callbacks []Callback
	Lines     []Line
	Levels    []string // that the log can be read at
	Level     string   // the one that was asked for; "": all
	Settings  Settings
	Asked     string // the URL of the page that explains one
	URL       *Explained
	Past      PastRuns
}

// pages makes the routes of the pages.
func (b *Board) pages(mux *http.ServeMux) {
	for name, title := range map[string]string{
		"overview": "Overview", "hosts": "Hosts", "failures": "Failures", "items": "Items", "callbacks": "Callbacks", "log": "Log", "settings": "Settings", "url": "URL", "runs": "Runs",
	} {
		set := template.Must(template.New("").Funcs(shown).ParseFS(assets, "assets/frame.html", "assets/"+name+".html"))
		b.made[name] = page{title, set}
	}
	show := func(pattern, name string) {
		signedIn := b.access.require(viewer, func(w http.ResponseWriter, r *http.Request) { b.show(w, r, name, http.StatusOK, "") })
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !b.access.signIn(w, r) {
				signedIn(w, r)
			}
		})
	}
	show("GET /{$}", "overview")
	show("GET /hosts", "hosts")
	show("GET /failures", "failures")
	show("GET /url", "url")
	show("GET /items", "items")
	show("GET /callbacks", "callbacks")
	show("GET /log", "log")
	show("GET /runs", "runs")
	show("GET /settings", "settings")
	for _, file := range []string{"style.css", "script.js"} { // there is nothing secret in them
		mux.HandleFunc("GET /"+file, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/"+file) })
	}
}

// page is what a page is made of.
type page struct {
	title string
	set   *template.Template
}

// show writes a page, or none of it.
func (b *Board) show(w http.ResponseWriter, r *http.Request, name string, status int, problem string) {
	v := view{
		Title: b.made[name].title, Controls: b.access.of(r) == controller, Problem: problem,
		Run: b.run(), Running: b.isRunning(), Changes: b.log.newest(),
	}
	switch name {
	case "overview":
		v.Curve = b.curve()
	case "hosts":
		v.Hosts = b.hosts(100)
	case "failures":
		v.Failures = b.failures.list()
	case "items":
		v.Items = b.items.list(v.Run.Stats.Fields)
	case "callbacks":
		v.Callbacks = callbacksOf(b.engine)
	case "log":
		least, err := levelOf(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		v.Lines, v.Levels, v.Level = b.lines.newest(least), shownLevels, r.URL.Query().Get("level")
	case "url":
		if v.Asked = r.URL.Query().Get("u"); v.Asked != "" {
			explained, err := b.explain(r)
			if err != nil {
				v.Asked, v.Problem, status = "", err.Error(), http.StatusBadRequest
			} else {
				v.URL, v.Asked = &explained, explained.URL
			}
		}
	case "runs":
		v.Past = b.past.list(b.options.Runs)
	case "settings":
		v.Settings = b.wired()
	}
	var page bytes.Buffer
	if err := b.made[name].set.ExecuteTemplate(&page, "frame.html", v); err != nil {
		http.Error(w, "this page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, plain(page.String())) // the reader may have gone
}
