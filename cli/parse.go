package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

// fixturesDir is where fixtures lie unless a flag says otherwise.
const fixturesDir = "testdata"

// parseFlags are the flags of the command parse.
type parseFlags struct {
	given
	spider, parser, url, save, dir string
	data                           string
	meta                           []string
	depth                          int
	asJSON                         bool
}

func (c *call) parseCommand() *cobra.Command {
	f := &parseFlags{}
	cmd := &cobra.Command{
		Use: "parse URL|PAGE", Short: "give one page to a spider",
		Long: "Gives one page to a parser of a spider, and shows the items and requests that it sends. A URL is fetched as " +
			"a crawl of this program would, and its pipelines get nothing. " +
			"A PAGE is a file, read offline: markup, JSON, or with the ending .http a response of HTTP/1.1. " +
			"Requests are shown before duplicates are left out. A parser that fails has the exit code 1.",
		Example: "  " + c.name + " parse https://quotes.example/ --spider quotes\n" +
			"  " + c.name + " parse page.html --url https://shop.example/item/1 --parser detail --meta page=2\n" +
			"  " + c.name + " parse https://quotes.example/ --save quotes     # a fixture, see check",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s needs a URL or a file, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.parse(cmd, f, args[0]) },
	}
	f.addSettings(cmd)
	f.addLookFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.spider, "spider", "", "`NAME` of the spider; not needed if there is one alone")
	flags.StringVar(&f.parser, "parser", "", "`NAME` of one of its parsers (default: the one that reads first pages)")
	flags.StringArrayVarP(&f.args, "arg", "a", nil, "argument of the spider, `NAME=VALUE`; may be repeated")
	flags.StringArrayVar(&f.meta, "meta", nil, "value in the Meta of the request, `NAME=VALUE`: a number, true, false, a "+
		"list or map in JSON, or else a text; may be repeated")
	flags.StringVar(&f.data, "data", "", "value of RequestWithData of the request, as `JSON`")
	flags.IntVar(&f.depth, "depth", 0, "follow the requests of a URL's page this many `LEVELS`, and show those pages too")
	flags.BoolVar(&f.asJSON, "json", false, "write a line of JSON for each page")
	flags.StringVar(&f.url, "url", "", "`URL` that a PAGE came from (default: its base element's)")
	flags.StringVar(&f.save, "save", "", "make a fixture of the page, with this `NAME`, for the command check")
	flags.StringVar(&f.dir, "dir", fixturesDir, "`DIR` of the fixtures, for --save")
	must(cmd.RegisterFlagCompletionFunc("spider", func(cmd *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.completeSpiders(cmd, nil, text)
	}))
	return cmd
}

// chosen finds the spider of a name; without one, the only one there is. by is how it is named.
func (c *call) chosen(name, by string) (*Definition, error) {
	if name == "" && len(c.app.defs) == 1 {
		return &c.app.defs[0], nil
	}
	if name == "" && len(c.app.defs) > 1 {
		var names []string
		for _, d := range c.app.defs {
			names = append(names, d.name)
		}
		return nil, usagef("name the spider by %s; this program has %s", by, listed(names))
	}
	if len(c.app.defs) == 0 {
		return nil, usagef("this program has no spiders, and a page needs the parser of one; %s fetch shows the page itself", c.name)
	}
	return c.app.definition(name)
}

// metaOf reads the flags --meta.
func metaOf(list []string) (map[string]any, error) {
	var meta map[string]any
	var errs []error
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			errs = append(errs, fmt.Errorf("--meta %s: write it as NAME=VALUE", text))
			continue
		}
		if meta == nil {
			meta = make(map[string]any)
		}
		v, err := fixture.Value([]byte(value))
		if err != nil || v == nil {
			v = value
		}
		meta[name] = v
	}
	return meta, errors.Join(errs...)
}

// dataJSON returns the flag --data, nil if it was not given.
func (f *parseFlags) dataJSON() json.RawMessage {
	if f.data == "" {
		return nil
	}
	return json.RawMessage(f.data)
}

// isURL reports whether a text is meant to be a URL of the web.
func isURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// check finds mistakes of the flags.
func (f *parseFlags) check(page string) error {
	var errs []error
	wrong := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	online := isURL(page)
	wrong(f.data != "" && !json.Valid([]byte(f.data)), "--data %s: it is no JSON; a text is written in quotation marks, "+
		"as --data '\"oak\"'", f.data)
	wrong(f.depth < 0, "--depth is %d; it must not be negative", f.depth)
	wrong(f.depth > 0 && !online, "--depth: a file is read offline, and leads nowhere")
	wrong(f.depth > 0 && f.save != "", "--depth and --save: a fixture has one page; leave one of them out")
	wrong(f.url != "" && online, "--url: the page has a URL already")
	wrong(f.url != "" && !isURL(f.url), "--url %q: write it as https://host/path", urlx.Redact(f.url))
	wrong(f.save != "" && (fileName(f.save) != f.save), "--save %q: use letters, digits, - and _", f.save)
	return errors.Join(errs...)
}

func (c *call) parse(cmd *cobra.Command, f *parseFlags, page string) error {
	def, err := c.chosen(f.spider, "--spider")
	if err != nil {
		return err
	}
	l, layersErr := c.layers(def, f.given)
	meta, metaErr := metaOf(f.meta)
	if err := errors.Join(layersErr, metaErr, f.check(page)); err != nil {
		return &usageError{err}
	}
	spider, err := def.of(l)
	if err != nil {
		return &usageError{err}
	}
	var failed error
	see := func(p *fixture.Page) {
		c.sayCached(p.Response)
		failed = errors.Join(failed, c.seePage(f, def, l, p))
	}
	if !isURL(page) {
		offline, err := pageFile(page, f.url)
		if err != nil {
			return err
		}
		offline.Request.Parser, offline.Request.Meta, offline.Request.Data = f.parser, meta, f.dataJSON()
		p, err := offline.Run(cmd.Context(), spider)
		if err != nil {
			return err
		}
		see(p)
		return failed
	}
	if err := checkURL(page); err != nil {
		return err
	}
	asked := fixture.Request{URL: page, Parser: f.parser, Meta: meta, Data: f.dataJSON()}
	request, err := asked.New()
	if err != nil {
		return err
	}
	visit, err := fixture.NewVisit(spider, request, f.depth, see)
	if err != nil {
		return &usageError{err}
	}
	defer visit.Close()
	err = c.withCache("parse", l, func(cache tegenaria.EngineOption) error {
		return withoutSpider(c.visit(cmd.Context(), l, visit, append(visit.Options(), cache)...))
	})
	return errors.Join(err, failed)
}

// localFile returns the path that a URL of a file stands for; another text is a path already, unless it is a mistyped URL of the web.
func localFile(text string) (string, error) {
	switch urlx.Scheme(text) {
	case "http", "https":
		return "", usagef("%q is no URL that can be fetched: write it as https://host/path", urlx.Redact(text))
	case "file":
	default:
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Host != "" && u.Host != "localhost" {
		return "", usagef("%q names no file of this machine: write it as file:///folder/page.html, or leave file:// out", text)
	}
	if path := strings.TrimPrefix(u.Path, "/"); filepath.VolumeName(path) != "" { // file:///C:/page.html
		return filepath.FromSlash(path), nil
	}
	return filepath.FromSlash(u.Path), nil
}

// pageFile reads a page from a file. Without a URL it is that of the page's base element.
func pageFile(name, url string) (*fixture.Fixture, error) {
	path, err := localFile(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := checkURL(name); err != nil && path == name {
			return nil, fmt.Errorf("there is no such file, and %v", err) // a file may be missing: that is no wrong usage
		}
	}
	if err != nil {
		return nil, err
	}
	if url == "" {
		unknown := "https://page.invalid/" + fileName(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		url = links.Base(text, unknown)
	}
	return fixture.PageOf(path, text, url)
}

// seePage shows a page, and makes a fixture of it if that is asked for.
func (c *call) seePage(f *parseFlags, def *Definition, l *layers, p *fixture.Page) error {
	var err error
	if f.asJSON {
		err = writePageJSON(c.out, p)
	} else {
		err = writePage(c.out, p)
	}
	if err != nil {
		return err
	}
	if p.Err != nil {
		return fmt.Errorf("%s: the parser failed: %w", urlx.Redact(p.Response.URL), p.Err)
	}
	if f.save == "" {
		return nil
	}
	args := maps.Clone(l.values)
	made := fixture.New(filepath.Join(f.dir, f.save), def.name, args, p.Response)
	made.Request.Parser = f.parser
	if err := made.Save(p); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	fmt.Fprintf(c.err, "%s: the page is saved in %s\n", c.name, printable(made.Dir))
	return nil
}

// pageJSON is how parse --json prints a page.
type pageJSON struct {
	URL      string            `json:"url"`
	Status   int               `json:"status"`
	Error    string            `json:"error,omitempty"`
	Items    []any             `json:"items"`
	Requests []fixture.Request `json:"requests"`
}

func writePageJSON(w io.Writer, p *fixture.Page) error {
	page := pageJSON{URL: urlx.Redact(p.Response.URL), Status: p.Response.Status, Items: p.Items, Requests: []fixture.Request{}}
	if p.Err != nil {
		page.Error = p.Err.Error()
	}
	if page.Items == nil {
		page.Items = []any{}
	}
	for _, r := range p.Requests {
		request := fixture.RequestOf(r)
		request.URL = urlx.Redact(request.URL)
		page.Requests = append(page.Requests, request)
	}
	return writeLine(w, page)
}

// writePage writes a page as tables.
func writePage(w io.Writer, p *fixture.Page) error {
	return table(w, func(w io.Writer) {
		fmt.Fprintf(w, "%s: status %d, %s, %s\n", cell(urlx.Redact(p.Response.URL)), p.Response.Status, counted(len(p.Items), "item"), counted(len(p.Requests), "request"))
		if len(p.Items) > 0 {
			fmt.Fprintln(w)
			writeItems(w, p.Items)
		}
		if len(p.Requests) > 0 {
			hasData := slices.ContainsFunc(p.Requests, func(r *tegenaria.Request) bool { return r.DataJSON() != nil })
			head := "\nMETHOD\tURL\tPARSER\tMETA"
			if hasData {
				head += "\tDATA"
			}
			fmt.Fprintln(w, head)
			for _, r := range p.Requests {
				meta := ""
				if len(r.Meta) > 0 {
					meta = cellOf(r.Meta)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s", r.Method, cell(urlx.Redact(r.Url)), cell(r.ParserName()), meta)
				if hasData {
					fmt.Fprintf(w, "\t%s", cell(string(r.DataJSON())))
				}
				fmt.Fprintln(w)
			}
		}
		fmt.Fprintln(w)
	})
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// writeItems writes items as a table: a column for each field, or one for items without fields.
func writeItems(w io.Writer, items []any) {
	var columns []string
	rows := make([]map[string]string, len(items))
	for i, item := range items {
		var names []string
		names, rows[i] = fieldsOf(item)
		for _, name := range names {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	const most = 12
	left := len(columns) - most
	columns = columns[:min(len(columns), most)]
	heads := make([]string, len(columns))
	for i, name := range columns {
		heads[i] = strings.ToUpper(cell(name))
	}
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = row[name]
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if left > 0 {
		fmt.Fprintf(w, "and %s; --json has all\n", counted(left, "more field"))
	}
}

// fieldsOf returns the fields of an item as cells, and their names in the order of its JSON.
func fieldsOf(item any) (names []string, cells map[string]string) {
	text, err := json.Marshal(item)
	var fields map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &fields) != nil || fields == nil {
		return []string{"item"}, map[string]string{"item": cellOf(item)}
	}
	cells = make(map[string]string)
	decoder := json.NewDecoder(bytes.NewReader(text))
	_, _ = decoder.Token() // the brace
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			break
		}
		var v any
		if err := decoder.Decode(&v); err != nil {
			break
		}
		key, _ := name.(string)
		names = append(names, key)
		cells[key] = cellOf(v)
	}
	return names, cells
}

// cellOf is a value as a cell: a text as it is, else JSON; cut if it is long.
func cellOf(v any) string {
	const most = 60
	text, isText := v.(string)
	if !isText && v != nil {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			b.Reset()
			fmt.Fprintf(&b, "%v", v)
		}
		text = strings.TrimSuffix(b.String(), "\n")
	}
	text = strings.Join(strings.Fields(cell(text)), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

// mostFileName bounds a name of a file, in bytes: with an ending it is one that every file system takes.
const mostFileName = 200

// fileName makes a name of a spider one of a file: letters, digits, - and _ stay, others are written as numbers. One
// that is too long ends with a hash.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range []byte(name) {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteByte(r)
		} else {
			fmt.Fprintf(&b, "%%%02x", r)
		}
	}
	if b.Len() > mostFileName {
		hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))
		return b.String()[:mostFileName-len(hash)] + hash
	}
	return b.String()
}
