package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	sessions "github.com/tegenaria/tegenaria/session"
)

// proxySettings are those of the pool of proxies of a command.
type proxySettings struct {
	File   string        `json:"file"` // has the URLs; "" if List has them, or if there are no proxies
	List   []string      `json:"list"`
	Choose proxy.Choice  `json:"choose"`
	Direct bool          `json:"direct"`
	Reload time.Duration `json:"reload"`
	Robots bool          `json:"robots"`
}

// sessionSettings are those of sessions without a name. Those with one have a login, which is a func.
type sessionSettings struct {
	Size        int           `json:"size"` // 0: there are none
	Concurrency int           `json:"concurrency"`
	MaxUses     int           `json:"max_uses"`
	MaxAge      time.Duration `json:"max_age"`
}

// blockSettings are the rules for answers that are no pages. blocks.header is a mapping: see commandSettings.set.
type blockSettings struct {
	Status   []int             `json:"status"`
	Text     []string          `json:"text"`
	Header   map[string]string `json:"-"`
	Redirect []string          `json:"redirect"`
	Robots   bool              `json:"robots"`
}

// addProxies adds the flag for a list of proxies.
func (g *given) addProxies(flags *pflag.FlagSet) {
	flags.Var(&settingFlag{g: g, flag: "proxies", path: "proxies.file"}, "proxies",
		"`FILE` with the URLs of proxies, one in each line: every request goes through one of them")
}

// nameProxies gives an entry that has the proxies themselves, "proxies: @FILE" or a list, the name of the setting that it stands for.
func nameProxies(e *entry) {
	n := len(e.path)
	if e.path[n-1] != "proxies" || n != 1 && (n != 3 || e.path[0] != "spiders") {
		return
	}
	name := "list"
	if file, ok := strings.CutPrefix(e.text, "@"); ok {
		name, e.text = "file", file
	}
	e.path = append(e.path[:n:n], name)
}

// set is one of the settings that only commands have. The last one that names proxies counts.
func (s *commandSettings) set(path []string, text string) error {
	if len(path) == 3 && path[0] == "blocks" && path[1] == "header" {
		header := maps.Clone(s.Blocks.Header)
		if header == nil {
			header = make(map[string]string)
		}
		header[path[2]] = text
		s.Blocks.Header = header
		return nil
	}
	if err := setting.Set(s, path, text); err != nil {
		return err
	}
	switch strings.Join(path, ".") {
	case "proxies.file":
		s.Proxies.List = nil
	case "proxies.list":
		s.Proxies.File = ""
	}
	return nil
}

// leaves are these settings with their texts, also those of blocks.header that are given.
func (s *commandSettings) leaves() []setting.Leaf {
	list := setting.List(s)
	for _, name := range slices.Sorted(maps.Keys(s.Blocks.Header)) {
		list = append(list, setting.Leaf{Key: "blocks.header." + name, Text: s.Blocks.Header[name]})
	}
	return list
}

// middlewares returns an option with the pool of proxies, the sessions and the block rules that the settings say. A
// list that cannot be used is a mistake of the setting that names it. A list that is read again and cannot be used is a
// warning of the logger.
func (l *layers) middlewares(logger *logrus.Logger) (tegenaria.EngineOption, error) {
	var list []tegenaria.MiddlewaresInterface
	p := l.own.Proxies
	var proxies sessions.Proxies
	source, named := proxy.List(p.List...), l.last("proxies.list")
	if p.File != "" {
		source, named = proxy.File(p.File), l.last("proxies.file")
	}
	switch {
	case p.File != "" || len(p.List) > 0:
		if err := proxy.NewPool(source, proxy.Options{}).Open(context.Background(), nil); err != nil {
			if p.File == "" {
				err = fmt.Errorf("%w; a file with the proxies is written as '@FILE'", err)
			}
			return nil, &usageError{fmt.Errorf("%s: %w", named.where, err)}
		}
		proxies = proxy.NewPool(source, proxy.Options{Choose: p.Choose, Direct: p.Direct, Reload: p.Reload, Robots: p.Robots,
			Reloaded: func(proxies int, err error) {
				if err != nil {
					logger.WithField("proxies", proxies).Warnf("the proxies of before stay in use: %v", err)
				}
			}})
		list = append(list, proxies.(*proxy.Pool))
	case l.last("proxies.file") == nil && l.last("proxies.list") == nil:
		for _, name := range []string{"choose", "direct", "reload", "robots"} {
			if e := l.last("proxies." + name); e != nil {
				return nil, usagef("%s: there are no proxies: name them by proxies.file or proxies.list, or by --proxies FILE", e.where)
			}
		}
	}
	if s := l.own.Sessions; s.Size > 0 {
		list = append(list, sessions.NewPool(sessions.Options{Size: s.Size, Concurrency: s.Concurrency, MaxUses: s.MaxUses, MaxAge: s.MaxAge, Proxies: proxies}))
	}
	b := l.own.Blocks
	if len(b.Status)+len(b.Text)+len(b.Header)+len(b.Redirect) > 0 {
		list = append(list, middleware.NewBlocks(middleware.BlockRules{
			Status: b.Status, Text: b.Text, Header: b.Header, Redirect: b.Redirect, Robots: b.Robots}))
	}
	return tegenaria.EngineWithMiddlewares(list...), nil
}

// last returns the entry that a setting has its value from; nil if there is none.
func (l *layers) last(key string) *entry {
	for _, e := range slices.Backward(l.settings) {
		if strings.Join(e.path, ".") == key {
			return &e
		}
	}
	return nil
}

// settingsPaths makes the files and folders that a settings file names relative to the working directory. below: the settings file was
// found, and has files and folders below its own folder alone.
func settingsPaths(entries []entry, dir string, below bool) error {
	var errs []error
	for i := range entries {
		e := &entries[i]
		path := e.path
		if len(path) == 4 && path[0] == "spiders" {
			path = path[2:]
		}
		name, flag := strings.Join(path, "."), ""
		switch name {
		case "cache.folder":
			flag = "--cache"
		case "proxies.file":
			flag = "--proxies"
		default:
			continue
		}
		if below {
			if err := checkBelow(dir, e.text); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w; a settings file that was found names files and folders below its own "+
					"alone: give %s, or trust the file by --config",
					e.where, name, err, flag))
				continue
			}
		}
		if e.text != "" && !filepath.IsAbs(e.text) {
			e.text = filepath.Join(dir, e.text)
		}
	}
	return errors.Join(errs...)
}
