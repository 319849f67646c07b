package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// Pages of 32 MiB, the most that is read, larger ones and binary ones: view and parse show them or say why not, and nothing of them can
// steer the terminal.
func TestBadPages(t *testing.T) {
	paragraph := "<p>" + strings.Repeat("word ", 6552) + "</p>\n" // 32 KiB
	large := []byte(strings.Repeat(paragraph, 32<<20/len(paragraph)))
	large = append(large, strings.Repeat(" ", 32<<20-len(large))...)
	var binary []byte
	for i := range 1 << 20 {
		binary = append(binary, byte(i*i>>7), byte(i))
	}
	pages := map[string]struct {
		contentType string
		body        []byte
	}{
		"/large":  {"text/html", large},
		"/larger": {"text/html", append(large, ' ')},
		"/binary": {"application/octet-stream", binary},
		"/lies":   {"text/html", binary},
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", page.contentType)
		_, _ = w.Write(page.body) // who asks may leave
	}))
	defer site.Close()
	app := cli.New(tegenaria.NewSpider("shop", tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[map[string]any]) error {
		return out.Item(map[string]any{"paragraphs": len(resp.CSS("p").Texts()), "text": resp.CSS("body").Text()})
	}), site.URL))
	t.Setenv("TMPDIR", t.TempDir())
	for _, test := range []struct {
		args string
		code int
		want string // in the output or the message
	}{
		{"view /large", 0, "tegenaria-"},
		{"view /larger", 1, "/larger: "},
		{"view /binary", 1, `is no page of HTML but "application/octet-stream": tegenaria fetch --save FILE keeps it`},
		{"view /lies", 0, "tegenaria-"},
		{"parse /large", 0, "1 item"},
		{"parse /larger", 1, "/larger: "},
		{"parse /binary", 0, "status 200"},
		{"parse /lies", 0, "1 item"},
	} {
		command, path, _ := strings.Cut(test.args, " ")
		code, out, stderr := run(t, app, command, site.URL+path)
		if code != test.code || !strings.Contains(out+stderr, test.want) {
			t.Errorf("%s: code %d: %.500s %.500s", test.args, code, out, stderr)
		}
		if i := strings.IndexFunc(out+stderr, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
			t.Errorf("%s: it writes %.100q", test.args, (out + stderr)[i:])
		}
		if file := strings.TrimSpace(out); command == "view" && code == 0 {
			if info, err := os.Stat(file); err != nil || info.Size() < int64(len(pages[path].body)) {
				t.Errorf("%s: %v, %v", test.args, info, err)
			}
		}
	}
}
