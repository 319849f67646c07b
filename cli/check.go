package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

func (c *call) checkCommand() *cobra.Command {
	var update bool
	var dir string
	cmd := &cobra.Command{
		Use: "check [SPIDER]", Short: "run the saved pages of the spiders, and compare",
		Long: "Runs the spiders on saved pages, offline, and compares their items and requests with the saved ones, field by field. If they differ, the exit code is 4. " +
			"parse --save makes such fixtures, folders with request.json, response.http, items.jsonl and requests.jsonl; spidertest.Fixtures runs them in a test.",
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
			return c.check(cmd.Context(), dir, only, update)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "save the new items and requests as the expected ones; the differences are printed, and the exit code is 0")
	cmd.Flags().StringVar(&dir, "dir", fixturesDir, "`DIR` of the fixtures")
	return cmd
}

// check runs the fixtures in a folder, those of one spider only if only is not empty.
func (c *call) check(ctx context.Context, dir, only string, update bool) error {
	list, err := fixture.Find(dir)
	errs := []error{err}
	ran, differing := 0, 0
	for _, f := range list {
		if only != "" && f.Request.Spider != only {
			continue
		}
		ran++
		found, err := c.checkOne(ctx, f, update)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name(), err))
			continue
		}
		word := "ok"
		switch {
		case len(found) > 0 && update:
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
		return usagef("there is no fixture of the spider %q in %s: %s parse URL --spider %s --save NAME makes one", only, dir, c.name, only)
	case ran == 0:
		return usagef("there is no fixture in %s: %s parse URL --save NAME makes one", dir, c.name)
	case differing > 0:
		return &brokenError{fmt.Errorf("%d of %s differ; check --update saves what there is now", differing, counted(ran, "fixture"))}
	}
	return nil
}

func (c *call) checkOne(ctx context.Context, f *fixture.Fixture, update bool) ([]string, error) {
	def, err := c.chosen(f.Request.Spider)
	if err != nil {
		return nil, err
	}
	spider, err := def.make(f.Request.Args)
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
