package cli

import (
	"errors"
	"fmt"
	"html"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
)

func (c *call) viewCommand() *cobra.Command {
	var g given
	cmd := &cobra.Command{
		Use: "view URL", Short: "show a page as a spider sees it",
		Long: "Fetches a page as a crawl of this program would, and saves it as a file for a browser: images and styles " +
			"come from the site, scripts, frames and forms do nothing. " +
			"It prints the path of the file and, if the standard output is a terminal, opens the browser.",
		Args: oneURL, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := c.layers(nil, g)
			if err != nil {
				return err
			}
			return c.look(cmd.Context(), l, tegenaria.NewRequest(args[0], tegenaria.GET, nil), c.view)
		},
	}
	g.addSettings(cmd)
	g.addLookFlags(cmd)
	return cmd
}

// view saves a page and shows it.
func (c *call) view(resp *tegenaria.Response) error {
	if !isHTML(resp) {
		return fmt.Errorf("%s is no page of HTML but %q: %s fetch --save FILE keeps it", urlx.Redact(resp.URL), http.Header(resp.Header).Get("Content-Type"), c.name)
	}
	text, err := resp.Text()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "tegenaria-*.html")
	if err != nil {
		return err
	}
	_, err = file.WriteString(inert(text, resp.URL))
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if _, err := fmt.Fprintln(c.out, file.Name()); err != nil {
		return err
	}
	if resp.Status >= 400 {
		fmt.Fprintf(c.err, "%s: the page has the status %d %s\n", c.name, resp.Status, http.StatusText(resp.Status))
	}
	if isTerminal(c.out) {
		return browse(file.Name())
	}
	return nil
}

// isHTML reports whether a response is a page of HTML, by its Content-Type or, without one, by its first bytes.
func isHTML(resp *tegenaria.Response) bool {
	contentType := http.Header(resp.Header).Get("Content-Type")
	if contentType == "" {
		contentType = http.DetectContentType(resp.Bytes())
	}
	media, _, _ := mime.ParseMediaType(contentType) // it is returned even if a parameter is wrong
	return media == "text/html" || media == "application/xhtml+xml"
}

// inertPolicy is the Content-Security-Policy of a page that is viewed.
const inertPolicy = "script-src 'none'; object-src 'none'; frame-src 'none'; form-action 'none'"

// inert prepares the text of a page for a browser that reads it from a file. What is added stands behind the doctype, so that the
// browser's tree has it first in the head: the first base counts. A byte order mark says that the text is UTF-8,
// whatever the page declares.
func inert(text, url string) string {
	text = strings.TrimLeft(text, "\ufeff")
	at := doctypeEnd(text)
	added := `<base href="` + html.EscapeString(bare(links.Base([]byte(text), url))) + `"><meta http-equiv="Content-Security-Policy" content="` + inertPolicy + `">`
	return "\ufeff" + text[:at] + added + text[at:]
}

// bare returns a URL without user and password.
func bare(url string) string {
	scheme, rest, ok := strings.Cut(url, "//")
	if !ok {
		return url
	}
	end := len(rest)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		end = i
	}
	return scheme + "//" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
}

// doctypeEnd returns where the doctype of a text ends; 0 if there is none, or if it is not certain that a browser finds
// it there. White space, comments and an XML declaration may precede it.
func doctypeEnd(text string) int {
	at := 0
	for {
		rest := text[at:]
		switch trimmed := strings.TrimLeft(rest, " \t\r\n\f"); {
		case len(trimmed) < len(rest):
			at += len(rest) - len(trimmed)
			continue
		case strings.HasPrefix(rest, "<!--"):
			end := strings.Index(rest, "-->")
			if end < len("<!--") || strings.HasPrefix(rest, "<!--->") || strings.Contains(rest[:end], "--!>") {
				return 0 // browsers end it elsewhere, or not at all
			}
			at += end + len("-->")
			continue
		case strings.HasPrefix(rest, "<?"):
		case len(rest) >= 9 && strings.EqualFold(rest[:9], "<!doctype"):
			end := strings.IndexByte(rest, '>')
			if end < 0 {
				return 0
			}
			return at + end + 1
		default:
			return 0
		}
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return 0
		}
		at += end + 1
	}
}

// browse opens the browser of the system with a file; it does nothing if there is none.
func browse(path string) error {
	name, args := "xdg-open", []string{path}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", path}
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	if err := exec.Command(program, args...).Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
