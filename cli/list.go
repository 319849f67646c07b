package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/setting"
)

func (c *call) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "list the spiders", Long: "Lists the names of the spiders, one in a line.",
		Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			for _, d := range c.app.sorted() {
				if _, err := fmt.Fprintln(c.out, printable(d.name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// sorted returns the spiders by name.
func (a *App) sorted() []Definition {
	return slices.SortedFunc(slices.Values(a.defs), func(x, y Definition) int { return strings.Compare(x.name, y.name) })
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, and was given %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// description is what a program says of itself.
type description struct {
	Program   string           `json:"program"`
	Module    string           `json:"module,omitempty"`  // the path of the main module
	Version   string           `json:"version,omitempty"` // of that module
	Tegenaria string           `json:"tegenaria"`         // the version of the framework
	Spiders   []spiderJSON     `json:"spiders"`
	build     *debug.BuildInfo // nil: it is not known
}

type spiderJSON struct {
	Name      string         `json:"name"`
	Help      string         `json:"help,omitempty"`
	Arguments []argumentJSON `json:"arguments"`
}

type argumentJSON struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default string `json:"default,omitempty"`
	Help    string `json:"help,omitempty"`
}

func (c *call) description() description {
	d := description{Program: c.name, Tegenaria: tegenaria.Version, Spiders: []spiderJSON{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		d.build, d.Module, d.Version = info, info.Main.Path, info.Main.Version
	}
	for _, def := range c.app.sorted() {
		s := spiderJSON{Name: def.name, Help: def.help, Arguments: []argumentJSON{}}
		for _, a := range def.args {
			s.Arguments = append(s.Arguments, argumentJSON{a.name, setting.TypeName(a.typ), a.def, a.help})
		}
		d.Spiders = append(d.Spiders, s)
	}
	return d
}

func (c *call) describeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "describe", Short: "describe the spiders and their arguments",
		Long: "Describes the spiders and their arguments, with types and defaults. With --json it says all that a service " +
			"which starts crawls needs to know of the program.",
		Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			d := c.description()
			if asJSON {
				return writeJSON(c.out, d)
			}
			return table(c.out, func(w io.Writer) {
				for _, s := range d.Spiders {
					fmt.Fprintf(w, "%s\t\t\t%s\n", s.Name, s.Help)
					for _, a := range s.Arguments {
						text := a.Help
						if a.Default != "" {
							text = strings.TrimSpace(fmt.Sprintf("%s (default %s)", text, a.Default))
						}
						fmt.Fprintf(w, "  \t%s\t%s\t%s\n", a.Name, a.Type, text)
					}
				}
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// writeJSON writes a value as indented JSON.
func writeJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// writeLine writes a value as a line of JSON.
func writeLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

// encodeJSON writes JSON in which control characters are escaped, those that JSON lets stand too.
func encodeJSON(w io.Writer, v any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, printable(text.String()))
	return err
}

func (c *call) versionCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "version", Short: "print the version", Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Prints the version of the framework. With -v it adds the module of the program with its version and " +
			"revision, and the system that it was built for.",
		RunE: func(*cobra.Command, []string) error {
			if !all {
				_, err := fmt.Fprintf(c.out, "tegenaria %s\n", tegenaria.Version)
				return err
			}
			d := c.description()
			return table(c.out, func(w io.Writer) {
				fmt.Fprintf(w, "tegenaria\t%s\n", d.Tegenaria)
				if d.Module != "" {
					fmt.Fprintf(w, "module\t%s %s\n", d.Module, d.Version)
				}
				if d.build != nil {
					for _, s := range d.build.Settings {
						if name, ok := strings.CutPrefix(s.Key, "vcs."); ok {
							fmt.Fprintf(w, "%s\t%s\n", name, s.Value)
						}
					}
				}
				fmt.Fprintf(w, "go\t%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "verbose", "v", false, "more about the program")
	return cmd
}

func (c *call) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "help about a command", Long: "Prints the help of a command, as its flag -h does.",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0:
				return usagef("there is no command %q; %s -h lists the commands", strings.Join(args, " "), found.CommandPath())
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
