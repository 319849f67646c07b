package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/project"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

func (c *call) newCommand() *cobra.Command {
	var template, sources string
	var kinds strings.Builder
	for _, t := range project.Templates {
		fmt.Fprintf(&kinds, "  %-9s %s\n", t.Name, t.Help)
	}
	cmd := &cobra.Command{
		Use: "new DIR", Short: "make a project",
		Long: "Makes a project in a new folder: a program with a spider, its settings, a saved page and a test that runs " +
			"the spider on it. All that it needs is there already, so it builds without a network. The templates are\n\n" +
			strings.TrimSuffix(kinds.String(), "\n"),
		Example: "  " + c.name + " new shop\n  " + c.name + " new shop --template sitemap",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s needs a folder, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.newProject(args[0], template, sources) },
	}
	cmd.Flags().StringVar(&template, "template", project.Templates[0].Name, "`NAME` of a template")
	cmd.Flags().StringVar(&sources, "sources", "", "`DIR` with a clone of the framework's repository, which the project "+
		"is to use (default: the version of this program)")
	must(cmd.RegisterFlagCompletionFunc("template", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return templateNames(), cobra.ShellCompDirectiveNoFileComp
	}))
	cmd.AddCommand(c.newSpiderCommand())
	return cmd
}

func templateNames() (names []string) {
	for _, t := range project.Templates {
		names = append(names, t.Name)
	}
	return names
}

func (c *call) newProject(dir, name, sources string) error {
	var template *project.Template
	for i := range project.Templates {
		if project.Templates[i].Name == name {
			template = &project.Templates[i]
		}
	}
	if template == nil {
		return usagef("there is no template %q%s; there are %s", name, meant(name, templateNames()), listed(templateNames()))
	}
	from, err := project.Built()
	if sources != "" {
		from, err = project.Sources(sources)
	}
	if errors.Is(err, project.ErrNoSources) {
		return usagef("%w: give --sources DIR, a clone of the framework's repository", err)
	}
	if err != nil {
		return &usageError{err}
	}
	err = project.Create(dir, *template, from)
	if errors.Is(err, project.ErrNotEmpty) {
		return usagef("%w: name a folder that is empty or not there yet", err)
	}
	if err != nil {
		return err
	}
	spider := template.Spider
	crawl := fmt.Sprintf("crawl %s -O %[1]s.jsonl", spider)
	width := len("tegenaria " + crawl)
	_, err = fmt.Fprintf(c.out, `%s is a project with the spider %s. Next:

  cd %[1]s
  tegenaria %[3]s    # or: go run . %[3]s
  %-[4]*[5]s    # runs the spider on its saved page, without a network
  %-[4]*[6]s    # adds another spider

The first of them builds the program, which may take a minute.
`, printable(dir), spider, crawl, width, "go test ./...", "tegenaria new spider NAME URL")
	return err
}

func (c *call) newSpiderCommand() *cobra.Command {
	var g given
	cmd := &cobra.Command{
		Use: "spider NAME URL", Short: "add a spider to the project",
		Long: "Adds a spider to the project that this directory lies in: a Go file, a test, and the page at the URL as its " +
			"fixture. The page is fetched as by the command fetch. " +
			"The spider is given to the call of cli.Main or cli.New in the program, if there is one such call.",
		Example: "  " + c.name + " new spider books https://books.example/",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s needs a name and a URL, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return checkURL(args[1])
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.newSpider(cmd.Context(), g, args[0], args[1]) },
	}
	g.addSettings(cmd)
	return cmd
}

func (c *call) newSpider(ctx context.Context, g given, name, page string) error {
	if u, err := url.Parse(page); err == nil && u.User != nil {
		return usagef("the URL has a login, which does not belong into a program: leave it out")
	}
	dir, err := c.projectDir()
	if err != nil {
		return &usageError{err}
	}
	spider, err := project.NewSpider(dir, name)
	if err != nil {
		return &usageError{err}
	}
	l, err := c.layers(nil, g)
	if err != nil {
		return err
	}
	if err := c.savePage(ctx, l, spider, page); err != nil {
		return err
	}
	added, err := spider.Write(page)
	if err != nil {
		return err
	}
	next := ""
	if !added {
		next = fmt.Sprintf("  give it to package cli where your program does that: cli.Main(…, %s())\n", spider.Func)
	}
	_, err = fmt.Fprintf(c.out, `the project has the spider %s now, made by %s, with its page in %s. Next:

%s  tegenaria crawl %[1]s
  tegenaria check --update %[1]s    # when it finds what you want: go test expects that from then on
  go test ./...
`, name, spider.Func, printable(spider.Fixture()), next)
	return err
}

// projectDir returns the folder of the project, that of the settings file.
func (c *call) projectDir() (string, error) {
	if c.config != "" {
		return filepath.Dir(c.config), nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	settings, err := project.Find(dir)
	if err == nil && settings == "" {
		err = fmt.Errorf("there is no %s in this directory or one above it: tegenaria new DIR makes a project", project.SettingsName)
	}
	return filepath.Dir(settings), err
}

// savePage fetches a page, and makes it the fixture of a new spider.
func (c *call) savePage(ctx context.Context, l *layers, its *project.Spider, page string) error {
	spider := tegenaria.NewSpider(its.Name, tegenaria.Handle(parseTitle), page)
	request, err := (&fixture.Request{URL: page}).New()
	if err != nil {
		return err
	}
	var saved error
	visit, err := fixture.NewVisit(spider, request, 0, func(p *fixture.Page) {
		saved = p.Err
		if saved == nil {
			saved = fixture.New(its.Fixture(), its.Name, nil, p.Response).Save(p)
		}
	})
	if err != nil {
		return err
	}
	defer visit.Close()
	return errors.Join(withoutSpider(c.visit(ctx, l, visit, visit.Options()...)), saved)
}

// title is the item of a new spider.
type title struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// parseTitle is the parser that project.Spider writes.
func parseTitle(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[title]) error {
	return out.Item(title{URL: page.URL, Title: page.CSS("title").Text()})
}
