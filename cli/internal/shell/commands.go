package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// command is one that a line may name.
type command struct {
	name, arg, help string // arg is what help calls its argument, in brackets if it may be left out
	pages           bool   // it needs a page
	first           bool   // it stands first in a line
	ends            bool   // it prints itself and stands last in a line
	run             func(s *Shell, ctx context.Context, c call) (*selector.Selection, error)
}

// call is what a command is given.
type call struct {
	arg   string
	piped bool                // in is what the command before it has found
	in    *selector.Selection // or else nil
}

// commands are made by a func, since help lists them.
func commands() []*command {
	return []*command{
		{name: "css", arg: "SELECTOR", help: "nodes that a CSS selector selects", pages: true, run: (*Shell).css},
		{name: "xpath", arg: "EXPRESSION", help: "what an XPath expression selects", pages: true, run: (*Shell).xpath},
		{name: "json", arg: "PATH", help: "values of JSON, by a path such as offers.0.price", pages: true, run: (*Shell).json},
		{name: "re", arg: "EXPRESSION", help: "matches of a regular expression, or of its groups", pages: true, run: (*Shell).re},
		{name: "text", help: "the text as a reader sees it", pages: true, run: (*Shell).text},
		{name: "links", help: "the links, as absolute URLs", pages: true, run: (*Shell).links},
		{name: "headers", help: "status and header of the page", pages: true, first: true, run: (*Shell).headers},
		{name: "tree", help: "the elements, each in a line, with the number of those that are like it", pages: true, ends: true, run: (*Shell).tree},
		{name: "why", arg: "SELECTOR", help: "how many nodes each step of a selector keeps", pages: true, ends: true, run: (*Shell).why},
		{name: "fetch", arg: "URL", help: "get another page; the URL may be relative to this one's", first: true, ends: true, run: (*Shell).fetch},
		{name: "follow", arg: "[SELECTOR]", help: "get the page of the first link that is selected", pages: true, ends: true, run: (*Shell).follow},
		{name: "view", help: "open the page in a browser, as a spider sees it", pages: true, first: true, ends: true, run: (*Shell).view},
		{name: "parse", arg: "[SPIDER [PARSER]]", help: "give the page to a spider, and show its items and requests", pages: true, first: true, ends: true, run: (*Shell).parse},
		{name: "help", help: "list the commands", first: true, ends: true, run: (*Shell).help},
		{name: "quit", help: "end the shell, as Ctrl-D does", first: true, ends: true, run: func(*Shell, context.Context, call) (*selector.Selection, error) { return nil, ErrQuit }},
	}
}

func names() (list []string) {
	for _, c := range commands() {
		list = append(list, c.name)
	}
	return list
}

func lookup(name string) (*command, error) {
	list := commands()
	if i := slices.IndexFunc(list, func(c *command) bool { return c.name == name }); i >= 0 {
		return list[i], nil
	}
	hint := ""
	if near := setting.Nearest(name, names()); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("there is no command %q%s; help lists the commands", name, hint)
}

// check finds mistakes of a command that stands at a place of a line of so many.
func (c *command) check(arg string, at, of int) error {
	switch {
	case c.arg == "" && arg != "":
		return fmt.Errorf("%s takes no argument, and is given %q", c.name, arg)
	case c.arg != "" && c.arg[0] != '[' && arg == "":
		return fmt.Errorf("%s needs its argument: %[1]s %s", c.name, c.arg)
	case c.first && at > 0:
		return fmt.Errorf("%s cannot stand behind a |", c.name)
	case c.ends && at < of-1:
		return fmt.Errorf("nothing can stand behind %s |", c.name)
	}
	return nil
}

// split divides a line at each " | " that a command follows: other bars belong to selectors and expressions.
func split(line string) (parts []string) {
	start := 0
	for at := 0; ; {
		i := strings.Index(line[at:], " | ")
		if i < 0 {
			return append(parts, strings.TrimSpace(line[start:]))
		}
		at += i + len(" | ")
		name, _, _ := strings.Cut(strings.TrimLeft(line[at:], " "), " ")
		if slices.Contains(names(), name) {
			parts = append(parts, strings.TrimSpace(line[start:at-len(" | ")]))
			start = at
		}
	}
}

func (s *Shell) css(_ context.Context, c call) (*selector.Selection, error) {
	query, err := selector.Compile(c.arg)
	switch {
	case err != nil:
		return nil, mistake(c, "css", err)
	case c.piped:
		return inNodes(c, "css", query)
	}
	return s.page.CSS(c.arg), nil
}

func (s *Shell) xpath(_ context.Context, c call) (*selector.Selection, error) {
	query, err := selector.CompileXPath(c.arg)
	switch {
	case err != nil:
		return nil, mistake(c, "xpath", err)
	case c.piped:
		return inNodes(c, "xpath", query)
	}
	return s.page.XPath(c.arg), nil
}

// mistake says what is wrong with a query, which may have a | in it that was to be one of ours.
func mistake(c call, name string, err error) error {
	err = fmt.Errorf("%s: %w", name, plain(err))
	if _, rest, ok := strings.Cut(c.arg, " | "); ok && strings.TrimSpace(rest) != "" {
		_, unknown := lookup(strings.Fields(rest)[0])
		err = fmt.Errorf("%w; if a command was to follow the |: %w", err, unknown)
	}
	return err
}

// inNodes runs a query in the nodes that came through a |.
func inNodes(c call, name string, query *selector.Query) (*selector.Selection, error) {
	if c.in.Len() > 0 && len(c.in.Nodes()) == 0 {
		return nil, fmt.Errorf("%s: it selects in nodes, and what came through the | are texts", name)
	}
	return c.in.Select(query), nil
}

func (s *Shell) json(_ context.Context, c call) (*selector.Selection, error) {
	if c.piped {
		return c.in.JSON(c.arg), nil
	}
	return s.page.JSON(c.arg), nil
}

func (s *Shell) re(_ context.Context, c call) (*selector.Selection, error) {
	if c.piped {
		return s.values(c.in.Re(c.arg)), nil
	}
	text, err := s.page.Text()
	if err != nil {
		return nil, err
	}
	return s.values(s.values([]string{text}).Re(c.arg)), nil
}

// values makes texts a Selection.
func (s *Shell) values(texts []string) *selector.Selection {
	list, err := json.Marshal(texts)
	if err != nil {
		panic(err) // texts can be written as JSON
	}
	resolve := func(ref string) (string, error) {
		request, err := s.page.Follow(ref)
		if err != nil {
			return "", err
		}
		return request.Url, nil
	}
	return selector.Parse(list, selector.JSON(), selector.Resolver(resolve)).JSON("@this")
}

func (s *Shell) text(_ context.Context, c call) (*selector.Selection, error) {
	if c.piped {
		return s.values(c.in.Texts()), nil
	}
	return s.values([]string{s.page.CSS(":root").Text()}), nil
}

func (s *Shell) links(_ context.Context, c call) (*selector.Selection, error) {
	if c.piped {
		return s.values(c.in.URLs()), nil
	}
	var urls []string
	for _, link := range s.page.Links() {
		urls = append(urls, urlx.Redact(link.URL))
	}
	return s.values(urls), nil
}

func (s *Shell) headers(context.Context, call) (*selector.Selection, error) {
	var lines []string
	for name, list := range s.page.Header {
		for _, value := range list {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	status := strings.TrimSpace(fmt.Sprintf("%d %s", s.page.Status, http.StatusText(s.page.Status)))
	return s.values(append([]string{status}, lines...)), nil
}

func (s *Shell) fetch(ctx context.Context, c call) (*selector.Selection, error) {
	url := c.arg
	if s.page != nil {
		request, err := s.page.Follow(url)
		if err != nil {
			return nil, fmt.Errorf("fetch: %w", err)
		}
		url = request.Url
	}
	return nil, s.get(ctx, url)
}

func (s *Shell) get(ctx context.Context, url string) error {
	page, err := s.host.Fetch(ctx, url)
	if err != nil {
		return err
	}
	s.Open(page)
	return nil
}

func (s *Shell) follow(ctx context.Context, c call) (*selector.Selection, error) {
	switch {
	case c.piped == (c.arg != ""):
		return nil, errors.New("follow needs a selector, or stands behind a |: follow li.next a")
	case !c.piped:
		var err error
		if c.in, err = s.css(ctx, c); err != nil {
			return nil, err
		}
	}
	url := c.in.URL()
	if url == "" {
		return nil, fmt.Errorf("follow: no link among the %d selected", c.in.Len())
	}
	return nil, s.get(ctx, url)
}

func (s *Shell) view(context.Context, call) (*selector.Selection, error) {
	return nil, s.host.View(s.page)
}

func (s *Shell) parse(ctx context.Context, c call) (*selector.Selection, error) {
	given := append(strings.Fields(c.arg), "", "")
	if len(given) > 4 {
		return nil, errors.New("parse needs no more than two names: parse [SPIDER [PARSER]]")
	}
	return nil, s.host.Parse(ctx, s.page, given[0], given[1])
}

func (s *Shell) help(context.Context, call) (*selector.Selection, error) {
	for _, c := range commands() {
		if _, err := fmt.Fprintf(s.out, "  %-24s %s\n", strings.TrimSpace(c.name+" "+c.arg), c.help); err != nil {
			return nil, err
		}
	}
	_, err := fmt.Fprintln(s.out, "\nCommands joined by \" | \" work on what the one before has found: css article | css h3 a | links")
	return nil, err
}

// Keep makes of a response of a run one that a shell can keep: its memory is no longer that of the run.
func Keep(resp *tegenaria.Response) *tegenaria.Response {
	request := *resp.Request()
	request.Meta = maps.Clone(request.Meta)
	kept := tegenaria.NewResponse(&request, resp.Status, resp.Header, resp.Bytes())
	kept.URL = resp.URL
	return kept
}
