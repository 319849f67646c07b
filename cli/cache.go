package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/setting"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// cacheSettings are those of the HTTP cache, which only commands have.
type cacheSettings struct {
	Folder string           `json:"folder"` // "" for none
	Policy httpcache.Policy `json:"policy"`
	// the commands that use it: crawl, fetch, parse and shell; none: all of them. Where a flag says the folder, it is used.
	Commands []string `json:"commands"`
}

var cachedCommands = []string{"crawl", "fetch", "parse", "shell"}

// commandSettings are the settings that only commands have: the engine knows nothing of them.
type commandSettings struct {
	Cache    cacheSettings   `json:"cache"`
	Proxies  proxySettings   `json:"proxies"`
	Sessions sessionSettings `json:"sessions"`
	Blocks   blockSettings   `json:"blocks"`
}

// set sets a setting of the engine or of commands.
func set(s *tegenaria.Settings, own *commandSettings, path []string, text string) error {
	if slices.Contains([]string{"cache", "proxies", "sessions", "blocks"}, path[0]) {
		return own.set(path, text)
	}
	return setting.Set(s, path, text)
}

// settingFlag is a flag that stands for a setting.
type settingFlag struct {
	g                *given
	flag, path, text string
}

func (s *settingFlag) String() string { return s.text }

func (s *settingFlag) Set(text string) error {
	s.text = text
	s.g.flags = append(s.g.flags, entry{path: strings.Split(s.path, "."), text: text, origin: "flag --" + s.flag, where: "--" + s.flag})
	return nil
}

func (s *settingFlag) Type() string { return "string" }

// addCache adds the flag for the folder of a cache.
func (g *given) addCache(flags *pflag.FlagSet, help string) {
	flags.Var(&settingFlag{g: g, flag: "cache", path: "cache.folder"}, "cache", help)
}

// addCachePolicy adds the flag for the policy of a cache.
func (g *given) addCachePolicy(flags *pflag.FlagSet) {
	flags.Var(&settingFlag{g: g, flag: "cache-policy", path: "cache.policy"}, "cache-policy",
		"when a page of the --cache is the answer, `POLICY`: develop (default) fetches each page once, replay never uses "+
			"the network, refresh asks whether each page is still right, rfc9111 follows what sites say of their pages")
}

// completeCache completes the values of these flags.
func completeCache(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("cache", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}))
	if cmd.Flag("cache-policy") == nil {
		return
	}
	must(cmd.RegisterFlagCompletionFunc("cache-policy", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{
			cobra.CompletionWithDesc("develop", "fetches each page once"),
			cobra.CompletionWithDesc("replay", "never uses the network"),
			cobra.CompletionWithDesc("refresh", "asks whether each page is still right"),
			cobra.CompletionWithDesc("rfc9111", "follows what sites say of their pages"),
		}, cobra.ShellCompDirectiveNoFileComp
	}))
}

// checkBelow refuses the name of a folder that does not lie below another, also where links lead elsewhere.
func checkBelow(dir, name string) error {
	if name == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err = root.Stat(name); errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(name) {
		return nil
	}
	return err
}

// checkCache refuses a policy without a cache, and a command that has none.
func (l *layers) checkCache() error {
	for _, name := range l.own.Cache.Commands {
		if !slices.Contains(cachedCommands, name) {
			return usagef("cache.commands: %q does not use the cache; there are %q", name, cachedCommands)
		}
	}
	policy, folder := l.last("cache.policy"), l.last("cache.folder")
	if policy == nil || l.own.Cache.Folder != "" || folder != nil && !strings.HasPrefix(policy.origin, "flag ") {
		return nil // an empty --cache leaves out that of the file
	}
	return usagef("%s: there is no cache that could have a policy: give --cache DIR, or cache.folder in the settings file", policy.where)
}

// openCache opens the HTTP cache of a command; nil if it has none.
func (l *layers) openCache(command string) (*httpcache.Cache, error) {
	if err := l.checkCache(); err != nil || !l.isCached(command) {
		return nil, err
	}
	return httpcache.Open(l.own.Cache.Folder, httpcache.Options{Policy: l.own.Cache.Policy})
}

// isCached reports whether a command uses the cache of the settings.
func (l *layers) isCached(command string) bool {
	if list := l.own.Cache.Commands; l.own.Cache.Folder != "" && len(list) > 0 && !slices.Contains(list, command) {
		from, _ := l.origin("cache.folder")
		return strings.HasPrefix(from, "flag ")
	}
	return l.own.Cache.Folder != ""
}

// withCache calls do with the cache of a command that looks at single pages. If another process has the cache open, do has none, and the
// command says so. The option is nil then, and without a cache.
func (c *call) withCache(command string, l *layers, do func(cache tegenaria.EngineOption) error) error {
	cache, err := l.openCache(command)
	if inUse := (*httpcache.InUseError)(nil); errors.As(err, &inUse) {
		fmt.Fprintf(c.err, "%s: this command goes on without the cache: %s\n", c.name, printable(inUse.Error()))
		return do(nil)
	}
	if err != nil {
		return err
	}
	if cache == nil {
		return do(nil)
	}
	return errors.Join(do(tegenaria.EngineWithDownloaderLayers(cache.Layer)), cache.Close())
}

// sayCached says that a page is not what the site would answer now.
func (c *call) sayCached(resp *tegenaria.Response) {
	if cached := resp.Cached(); cached.State == tegenaria.CacheHit || cached.State == tegenaria.CacheStale {
		fmt.Fprintf(c.err, "%s: %s is from the cache, fetched %s ago\n", c.name, printable(urlx.Redact(resp.URL)), cached.Age.Round(time.Second))
	}
}

// sayNotArchived says what an archive of a crawl with a cache lacks.
func (c *call) sayNotArchived(outputs []Output) {
	for _, out := range outputs {
		if strings.HasSuffix(out.Path, ".warc") || strings.HasSuffix(out.Path, ".warc.gz") {
			fmt.Fprintf(c.err, "%s: pages that come from the cache are not in the archive %s; without a cache all are\n", c.name, printable(out.Path))
		}
	}
}
