package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

func (c *call) checkCommand() *cobra.Command {
	f := &checkFlags{}
	cmd := &cobra.Command{
		Use: "check [SPIDER]", Short: "run the saved pages of the spiders, and compare",
		Long: "Runs the spiders on saved pages, offline, and compares their items and requests with the saved " +
			"ones, field by field. If they differ, the exit code is 4. " +
			"parse --save makes such fixtures, folders with request.json, response.http, items.jsonl and " +
			"requests.jsonl; spidertest.Fixtures runs them in a test.\n\n" +
			"With --live it fetches the pages again, one after the other, as a crawl of this program would, and " +
			"gives them to the spiders. Values may have changed since; " +
			"it reports, with exit code 4, fields that were filled and are empty now, pages with another status, " +
			"and pages that cannot be fetched or parsed.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes the name of one spider, and was given %q too", cmd.CommandPath(), args[1])
			}
			return nil
		},
		ValidArgsFunction: c.completeSpiders,
		RunE: func(cmd *cobra.Command, args []string) error {
			only := ""
			if len(args) == 1 {
				if _, err := c.app.definition(args[0]); err != nil {
					return err
				}
				only = args[0]
			}
			return c.check(cmd.Context(), f, only)
		},
	}
	f.addSettings(cmd)
	cmd.Flags().BoolVar(&f.update, "update", false,
		"save the new items and requests as the expected ones; the differences are printed, and the exit code is 0")
	cmd.Flags().BoolVar(&f.live, "live", false, "fetch the pages again, and report the fields that have become empty")
	cmd.Flags().StringVar(&f.dir, "dir", fixturesDir, "`DIR` of the fixtures")
	return cmd
}

// checkFlags are the flags of the command check.
type checkFlags struct {
	given
	update, live bool
	dir          string
}

// check runs the fixtures in a folder, those of one spider only if only is not empty.
func (c *call) check(ctx context.Context, flags *checkFlags, only string) error {
	switch {
	case flags.live && flags.update:
		return usagef("--update: what is live is not saved; remove the fixture, and make it anew by parse --save")
	case len(flags.sets) > 0 && !flags.live:
		return usagef("-s: saved pages are read offline, without settings; it is for --live")
	}
	one := func(f *fixture.Fixture) ([]string, error) { return c.checkOne(ctx, f, flags.update) }
	if flags.live {
		l, err := c.layers(nil, flags.given)
		if err != nil {
			return err
		}
		one = c.live(ctx, l)
	}
	dir := flags.dir
	list, err := fixture.Find(dir)
	errs := []error{err}
	ran, differing := 0, 0
	for _, f := range list {
		if only != "" && f.Request.Spider != only {
			continue
		}
		ran++
		found, err := one(f)
		if codeOf(err) == codeStopped {
			return err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name(), err))
			continue
		}
		word := "ok"
		switch {
		case len(found) > 0 && flags.update:
			word = "updated"
		case len(found) > 0:
			word = "differs"
			differing++
		}
		text := fmt.Sprintf("%-8s%s\n", word, f.Name())
		for _, line := range found {
			text += "  " + line + "\n"
		}
		if _, err := fmt.Fprint(c.out, printableText(text)); err != nil {
			return err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	switch {
	case ran == 0 && only != "":
		return usagef("there is no fixture of the spider %q in %s: "+
			"%s parse URL --spider %s --save NAME makes one", only, dir, c.name, only)
	case ran == 0:
		return usagef("there is no fixture in %s: %s parse URL --save NAME makes one", dir, c.name)
	case differing > 0 && flags.live:
		return &brokenError{fmt.Errorf("%d of %s no longer give what they gave; mend the spiders, or make the "+
			"fixtures anew by parse --save", differing, counted(ran, "page"))}
	case differing > 0:
		return &brokenError{fmt.Errorf("%d of %s differ; check --update saves what there is now",
			differing, counted(ran, "fixture"))}
	}
	return nil
}

func (c *call) checkOne(ctx context.Context, f *fixture.Fixture, update bool) ([]string, error) {
	def, err := c.chosen(f.Request.Spider, "--spider")
	if err != nil {
		return nil, err
	}
	spider, _, err := def.make(f.Request.Args)
	if err != nil {
		return nil, err
	}
	page, err := f.Run(ctx, spider)
	if err != nil {
		return nil, err
	}
	found, err := f.Check(page)
	if err == nil && update && len(found) > 0 {
		err = f.Update(page)
	}
	return found, err
}

// live returns a func that fetches the page of a fixture again, and says what is no longer there.
func (c *call) live(ctx context.Context, l *layers) func(*fixture.Fixture) ([]string, error) {
	var pause time.Duration // each page is a crawl of its own, which does not know when the one before has ended
	return func(f *fixture.Fixture) ([]string, error) {
		def, err := c.chosen(f.Request.Spider, "the field spider of request.json")
		if err != nil {
			return nil, err
		}
		var spider tegenaria.SpiderInterface
		spider, l.made, err = def.make(f.Request.Args)
		if err != nil {
			return nil, err
		}
		request, err := f.Request.New()
		if err != nil {
			return nil, err
		}
		tegenaria.RequestWithAllowedStatusCode(everyStatus())(request)
		var page *fixture.Page
		visit, err := fixture.NewVisit(spider, request, 0, func(p *fixture.Page) { page = p })
		if err != nil {
			return nil, err
		}
		defer visit.Close()
		wait := time.NewTimer(pause)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		delay := func(e *tegenaria.SpiderEngine) { pause = e.Settings().Politeness.Delay }
		err = withoutSpider(c.visit(ctx, l, visit, append(visit.Options(), delay)...))
		switch code := codeOf(err); {
		case code == codeStopped || code == codeUsage:
			return nil, err
		case page != nil: // it has the error of the parser
			return f.Emptied(page)
		case err == nil:
			err = errors.New("the parser was not called")
		}
		return []string{c.message(err)}, nil
	}
}
