package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spiders"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

// layers are the settings and arguments that file and flags say for one spider.
type layers struct {
	settings []entry           // in the order in which they are applied
	args     map[string]entry  // the last one for each argument
	values   map[string]string // of the arguments
	own      commandSettings   // as settings say
	made     any               // the struct of the arguments, once the spider was made of it; nil: it has none
}

// given are the flags that say settings and arguments.
type given struct {
	sets, limits, args []string
	flags              []entry // flags of their own
	named              map[string]string
}

// mostMistakes bounds how many mistakes are reported.
const mostMistakes = 20

// layers reads file and flags for a spider; def is nil for a crawl without one of the program's. All mistakes are
// reported together, those of the file's sections for other spiders among them.
func (c *call) layers(def *Definition, g given) (*layers, error) {
	file, err := readSettings(c.config)
	if err != nil {
		return nil, err
	}
	l := &layers{args: make(map[string]entry), values: make(map[string]string)}
	var own []entry
	errs := []error{file.mistakes}
	for _, e := range file.entries {
		if e.path[0] != "spiders" {
			l.settings = append(l.settings, e)
			continue
		}
		if len(c.app.defs) == 0 { // nobody knows them
			continue
		}
		mine, err := c.section(e, def)
		if err != nil {
			errs = append(errs, err)
		} else if mine {
			e.path = e.path[2:]
			own = append(own, e)
		}
	}
	for _, e := range own {
		if e.path[0] == "args" {
			l.args[e.path[1]] = e
		} else {
			l.settings = append(l.settings, e)
		}
	}
	flags, args, flagErrs := g.entries()
	errs = append(errs, flagErrs...)
	l.settings = append(l.settings, flags...)
	for _, e := range args {
		if def == nil {
			errs = append(errs, fmt.Errorf("%s: this crawl takes no arguments of a spider", e.where))
		} else if err := def.check(e.path[0], e.text); err != nil {
			errs = append(errs, e.mistake(err))
		}
		l.args[e.path[0]] = e
	}
	errs = append(errs, l.apply(&tegenaria.Settings{}))
	for name, e := range l.args {
		l.values[name] = e.text
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > mostMistakes {
		errs = append(errs[:mostMistakes:mostMistakes], fmt.Errorf("and %d more mistakes", len(errs)-mostMistakes))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &usageError{err}
	}
	return l, nil
}

// section checks an entry of a spider's section of the file, and reports whether the spider is that of def.
func (c *call) section(e entry, def *Definition) (mine bool, err error) {
	if len(e.path) < 3 {
		return false, fmt.Errorf("%s: %s is a section: write settings, or args, into it", e.where, strings.Join(e.path, "."))
	}
	its, err := c.app.definition(e.path[1])
	if err != nil {
		return false, fmt.Errorf("%s: %w", e.where, err)
	}
	switch {
	case def != nil && its.name == def.name && e.path[2] != "args": // it is tried with the others
		return true, nil
	case e.path[2] != "args":
		if err := set(&tegenaria.Settings{}, &commandSettings{}, e.path[2:], e.text); err != nil {
			return false, e.mistake(err)
		}
	case len(e.path) != 4:
		return false, fmt.Errorf("%s: args are lines such as \"category: books\"", e.where)
	default:
		if err := its.check(e.path[3], e.text); err != nil {
			return false, e.mistake(err)
		}
	}
	return def != nil && its.name == def.name, nil
}

// mistake says where an error is, without the value if that is secret.
func (e *entry) mistake(err error) error {
	if value := (*setting.ValueError)(nil); e.secret && errors.As(err, &value) {
		return fmt.Errorf("%s: the content of the file does not fit", e.where)
	}
	return fmt.Errorf("%s: %w", e.where, err)
}

// entries reads the flags.
func (g *given) entries() (settings, args []entry, errs []error) {
	read := func(flag, text string, prefix ...string) (e entry, ok bool) {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			errs = append(errs, fmt.Errorf("%s %s: write it as NAME=VALUE", flag, text))
			return e, false
		}
		path := []string{name}
		if prefix != nil {
			path = append(prefix, path...)
		}
		return entry{path: path, text: value, origin: "flag " + flag, where: flag + " " + name}, true
	}
	settings = slices.Clone(g.flags)
	for _, text := range g.limits {
		for part := range strings.SplitSeq(text, ",") {
			if e, ok := read("--limit", part, "limits"); ok {
				settings = append(settings, e)
			}
		}
	}
	for _, text := range g.sets {
		if e, ok := read("-s", text); ok {
			e.path = setting.Split(e.path[0])
			settings = append(settings, e)
		}
	}
	for _, text := range g.args {
		if e, ok := read("-a", text); ok {
			if _, twice := g.named[e.path[0]]; twice {
				errs = append(errs, fmt.Errorf("the argument %s is given by -a and by --%[1]s", e.path[0]))
			}
			args = append(args, e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.named)) {
		args = append(args, entry{path: []string{name}, text: g.named[name], origin: "flag --" + name, where: "--" + name})
	}
	for i := range settings {
		nameProxies(&settings[i])
	}
	for _, list := range []*[]entry{&settings, &args} {
		var err error
		if *list, err = fromFiles(*list, ".", false); err != nil {
			errs = append(errs, err)
		}
	}
	return settings, args, errs
}

// apply sets the settings, and those of commands in l.
func (l *layers) apply(s *tegenaria.Settings) error {
	var errs []error
	l.own = commandSettings{}
	for i := range l.settings {
		if err := set(s, &l.own, l.settings[i].path, l.settings[i].text); err != nil {
			errs = append(errs, l.settings[i].mistake(err))
		}
	}
	return errors.Join(errs...)
}

// origin says where a setting has its value from; "" if neither file nor flag says it.
func (l *layers) origin(key string) (origin string, secret bool) {
	for _, e := range slices.Backward(l.settings) {
		if name := strings.Join(e.path, "."); name == key || strings.HasPrefix(name, key+".") {
			return e.origin, e.secret
		}
	}
	return "", false
}

// newRun makes an engine for a spider, as the code says it. l has the arguments that the spider was made of. first are
// options that come before those of the program.
func (c *call) newRun(l *layers, spider tegenaria.SpiderInterface, job string, first ...tegenaria.EngineOption) (*Run, error) {
	run := &Run{spider: spider, args: l.made, job: job, engine: tegenaria.NewSpiderEngine(), layers: l}
	if visit, ok := spider.(*fixture.Visit); ok {
		run.spider = visit.Spider()
	}
	run.Add(first...)
	run.Add(tegenaria.EngineWithSpiders(spider))
	for _, edit := range c.app.settings {
		run.Add(tegenaria.EngineWithSettings(edit))
	}
	_, ofSite := spider.(*spiders.Site)
	switch {
	case ofSite && len(c.app.engine) == 0:
		run.Add(tegenaria.EngineWithMiddlewares(siteMiddlewares()...))
	case len(c.app.engine) == 0:
		run.Add(tegenaria.EngineWithMiddlewares(middleware.Standard()...))
	}
	for _, options := range c.app.engine {
		list, err := options(run)
		if err != nil {
			return nil, err
		}
		run.Add(list...)
	}
	if ofSite { // they are for other items
		run.Add(tegenaria.EngineWithoutPipelines())
	}
	return run, nil
}

// add gives an engine the settings of file and flags, over those of the code.
func (l *layers) add(run *Run) error {
	var err error
	run.Add(tegenaria.EngineWithSettings(func(s *tegenaria.Settings) { err = l.apply(s) }))
	if err != nil {
		return &usageError{err}
	}
	return nil
}
