package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// shownSetting is a setting or an argument as the command settings shows it.
type shownSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

func (c *call) settingsCommand() *cobra.Command {
	var g given
	var asJSON bool
	cmd := &cobra.Command{
		Use: "settings [SPIDER]", Short: "show all settings and where they come from",
		Long: "Shows every setting that a crawl would have, its value, and where that comes from: a flag, a line of the " +
			"settings file, the code, or the default; with the name of a spider also its section of the file, and its " +
			"arguments. Secrets are masked.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("settings takes the name of one spider, and was given %q too", args[1])
			}
			return nil
		},
		ValidArgsFunction: c.completeSpiders,
		RunE: func(_ *cobra.Command, args []string) error {
			var def *Definition
			if len(args) == 1 {
				var err error
				if def, err = c.app.definition(args[0]); err != nil {
					return err
				}
			}
			shown, err := c.inForce(def, g)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(c.out, shown)
			}
			return table(c.out, func(w io.Writer) {
				for _, s := range shown {
					fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, strings.ReplaceAll(s.Value, "\n", " "), s.Origin)
				}
			})
		},
	}
	cmd.Flags().StringArrayVarP(&g.sets, "set", "s", nil, "setting, `NAME=VALUE`, as for crawl; may be repeated")
	cmd.Flags().StringArrayVarP(&g.args, "arg", "a", nil, "argument of the spider, `NAME=VALUE`; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	must(cmd.RegisterFlagCompletionFunc("set", completeSetting("")))
	return cmd
}

// inForce returns the arguments and settings of a crawl.
func (c *call) inForce(def *Definition, g given) ([]shownSetting, error) {
	l, err := c.layers(def, g)
	if err != nil {
		return nil, err
	}
	var shown []shownSetting
	spider := tegenaria.SpiderInterface(placeholder("settings"))
	if def != nil {
		if spider, err = def.of(l); err != nil {
			return nil, &usageError{err}
		}
		for _, a := range def.args {
			s := shownSetting{"args." + a.name, a.def, "default"}
			e, ok := l.args[a.name]
			if ok {
				s.Value, s.Origin = e.text, e.origin
			}
			s.mask(e.secret)
			shown = append(shown, s)
		}
	}
	run, err := c.newRun(l, spider, "")
	if err != nil {
		return nil, err
	}
	defaults, code := tegenaria.NewSpiderEngine().Settings(), run.engine.Settings()
	if err := l.add(run); err != nil {
		return nil, err
	}
	now := run.engine.Settings()
	inCode, byDefault := leaves(&code), leaves(&defaults)
	for _, leaf := range setting.List(&now) {
		s := shownSetting{leaf.Key, leaf.Text, "default"}
		if text, ok := byDefault[leaf.Key]; !ok || text != inCode[leaf.Key] {
			s.Origin = "code"
		}
		origin, secret := l.origin(leaf.Key)
		if _, inCode := inCode[leaf.Key]; origin != "" {
			s.Origin = origin
		} else if !inCode { // a struct that a flag has made
			s.Origin = "default"
		}
		s.mask(secret)
		shown = append(shown, s)
	}
	for _, leaf := range l.own.leaves() {
		s := shownSetting{leaf.Key, leaf.Text, "default"}
		origin, secret := l.origin(leaf.Key)
		if origin != "" {
			s.Origin = origin
		}
		s.mask(secret)
		shown = append(shown, s)
	}
	return shown, nil
}

func leaves(s *tegenaria.Settings) map[string]string {
	texts := make(map[string]string)
	for _, leaf := range setting.List(s) {
		texts[leaf.Key] = leaf.Text
	}
	return texts
}

// secretWords are parts of the names of settings that must not be shown.
var secretWords = []string{"password", "passwd", "secret", "token", "credential", "apikey", "api_key", "api-key"}

// isSecret reports whether the name of a setting or argument says that it is secret.
func isSecret(name string) bool {
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// hasSecret reports whether the value of a setting is secret; secret says that it came from a file of its own.
func hasSecret(name string, secret bool) bool {
	return name != "secret_headers" && (secret || isSecret(name) || name == "proxies.list")
}

// mask hides a value that came from a file of its own, or whose name says that it is secret.
func (s *shownSetting) mask(secret bool) {
	if s.Value != "" && hasSecret(s.Name, secret) {
		s.Value = "••••••"
	}
}

// placeholder makes a spider for engines that crawl nothing.
func placeholder(name string) tegenaria.SpiderInterface {
	return tegenaria.NewSpider(name, func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error { return nil })
}

// completeSpiders completes the name of a spider.
func (c *call) completeSpiders(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	if len(args) == 0 {
		for _, d := range c.app.sorted() {
			names = append(names, cobra.CompletionWithDesc(d.name, d.help))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSetting completes the name of a setting below a prefix.
func completeSetting(prefix string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		var s tegenaria.Settings
		for _, leaf := range append(setting.List(&s), setting.List(&commandSettings{})...) {
			if name, ok := strings.CutPrefix(leaf.Key, prefix); ok && !leaf.Fixed {
				names = append(names, cobra.CompletionWithDesc(name+"=", leaf.Type))
			}
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCrawl completes the values of the flags of crawl.
func (c *call) completeCrawl(cmd *cobra.Command, f *crawlFlags) {
	f.log.complete(cmd)
	completeCache(cmd)
	must(cmd.RegisterFlagCompletionFunc("history", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}))
	must(cmd.RegisterFlagCompletionFunc("key", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("set", completeSetting("")))
	must(cmd.RegisterFlagCompletionFunc("limit", completeSetting("limits.")))
	must(cmd.RegisterFlagCompletionFunc("arg", func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		def, err := c.app.definition(cmd.Name())
		if err != nil && len(args) > 0 {
			def, err = c.app.definition(args[0])
		}
		if err == nil {
			for _, a := range def.args {
				names = append(names, cobra.CompletionWithDesc(a.name+"=", a.help))
			}
		}
		return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}))
}
