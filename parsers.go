package tegenaria

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// parserTable knows the parsers of a run by name, and finds the name of a func value. "" is the spider's own Parser. It is
// safe for concurrent use once it is made.
type parserTable = funcname.Parsers[Parser]

// newParserTable collects the parsers of a run: those registered with the engine, then those of the
// spider. The error joins all mistakes.
func newParserTable(spider SpiderInterface, named []namedParser) (*parserTable, error) {
	t := &parserTable{Inside: insideOf}
	var errs []error
	for _, p := range named {
		errs = append(errs, t.Add(p.name, p.parser))
	}
	if set, ok := spider.(ParserSet); ok {
		parsers := set.Parsers()
		for _, name := range slices.Sorted(maps.Keys(parsers)) {
			errs = append(errs, t.Add(name, parsers[name]))
		}
	}
	switch s := spider.(type) {
	case nil:
	case *funcSpider: // the parser as it was given, so that one made by Handle is seen to be one
		errs = append(errs, t.SetOwn(s.parser, nil))
	case *Spider:
		errs = append(errs, t.SetOwn(s.parser, nil))
	default:
		errs = append(errs, t.SetOwn(s.Parser, reflect.TypeOf(s)))
	}
	return t, errors.Join(errs...)
}

// findSpider returns the spider of that name.
func findSpider(spiders []SpiderInterface, name string) (SpiderInterface, error) {
	var errs []error
	byName := make(map[string]SpiderInterface, len(spiders))
	for i, s := range spiders {
		if err := notNil(s, "RegisterSpiders", i); err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := nameOf(s)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: %w", err))
		case n == "":
			errs = append(errs, fmt.Errorf("RegisterSpiders: spider %d has no name; set BaseSpider.Name", i+1))
		case byName[n] != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: two spiders are called %q", n))
		default:
			byName[n] = s
		}
	}
	switch spider := byName[name]; {
	case spider == nil && len(byName) > 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders, or run one of %q", name, slices.Sorted(maps.Keys(byName))))
	case spider == nil && len(errs) == 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	case spider == nil: // none is any good, which was said
	default:
		errs = append(errs, mistakeOf(spider))
	}
	return byName[name], errors.Join(errs...)
}

// nameOf asks a spider for its name, unless it lacks the BaseSpider that would answer.
func nameOf(s SpiderInterface) (name string, err error) {
	if typecheck.EmbedsNil[*BaseSpider](s) { // GetName would panic, and StartRequest too
		return "", fmt.Errorf("the *BaseSpider embedded in %T is nil; set it: &tegenaria.BaseSpider{Name: …}, or embed BaseSpider by value", s)
	}
	if _, err := guard.Protect(func() error { name = s.GetName(); return nil }); err != nil {
		return "", fmt.Errorf("GetName of %T: %w", s, err)
	}
	return name, nil
}

// UnnamedParserError ends a run with a durable cache, in a [*RunError], when a request has a parser that has no name: the cache
// stores parsers by their names. The page that sent the request is not settled: after the missing line was added, the job
// continues with that page.
type UnnamedParserError struct {
	URL  string // of the request
	Func string // the parser, or what [Handle] made it of: "main.detail", "main.(*shop).detail", "main.main.func1"
	Line string // what to write, with a name that can be replaced by any other

	made string // "made by Handle of ", if it was
}

// Error contains the line to add.
func (e *UnnamedParserError) Error() string {
	return fmt.Sprintf("the parser of %s, %s%s, has no name under which a durable cache can store it; write %s", urlx.Redact(e.URL), e.made, e.Func, e.Line)
}

// unnamedParser makes the error of a request whose parser has no name. namer is how users call the method that names parsers.
func unnamedParser(r *Request, namer string) error {
	h, handled := insideOf(r.parser)
	made, call, literal := "made by Handle of ", "tegenaria.Handle(%s)", "tegenaria.Handle(…)"
	if !handled {
		h, made, call, literal = funcname.Of(r.parser), "", "%s", "…"
	}
	d := funcname.Describe(h)
	e := &UnnamedParserError{URL: r.Url, Func: d.Symbol, made: made}
	switch {
	case d.Literal:
		e.Line = fmt.Sprintf(`detail := %s once, before the crawl, then %s("detail", detail), and pass that variable; or make the func literal a top-level func or a method`, literal, namer)
	case d.Method:
		e.Line = fmt.Sprintf("%s(%q, %s), where s is the value whose method was passed", namer, d.Last, fmt.Sprintf(call, "s."+d.Last))
	default:
		e.Line = fmt.Sprintf("%s(%q, %s)", namer, d.Last, fmt.Sprintf(call, d.Last))
	}
	if namer != namerOn {
		e.Line += "; or make the spider by NewSpiderOf, and call spider.On in the same way"
	}
	return e
}

const namerOn = "spider.On"

// namerOf returns how users call the method that names parsers of this spider.
func namerOf(spider SpiderInterface) string {
	if _, ok := spider.(interface {
		On(name string, parser Parser) *Spider
	}); ok {
		return namerOn
	}
	return "engine.RegisterParser"
}

// checkFirst finds a mistake in the first requests of a spider, as far as they are known: a durable cache has to know their parsers.
func (c *codec) checkFirst(spider SpiderInterface) error {
	s, ok := spider.(interface{ first() []*Request })
	if !ok || !c.durable {
		return nil
	}
	var errs []error
	for _, r := range s.first() {
		switch _, ok := c.nameOf(r); {
		case ok:
		case r.named:
			errs = append(errs, c.unknownParser(r.Url, r.parserName))
		default:
			errs = append(errs, unnamedParser(r, c.names))
		}
	}
	return errors.Join(errs...)
}

// unknownNameError is that of a request for a durable cache whose parser has a name that nothing was registered under.
type unknownNameError struct{ wrong *RequestError }

// Error is that of the request.
func (e *unknownNameError) Error() string { return e.wrong.Error() }

// Unwrap returns the error of the request.
func (e *unknownNameError) Unwrap() error { return e.wrong }
