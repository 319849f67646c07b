package spidertest

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest/fixture"
)

// Fixtures runs the fixtures of a spider, the folders of dir with a saved page and what the spider made of it, each as
// a test of its own. It fails with the differences by field:
//
//	func TestPages(t *testing.T) { spidertest.Fixtures(t, quotes(), "testdata") }
//
// Fixtures of spiders with other names are left alone, and it is a failure if there is none of this one. The command
// parse --save NAME makes a fixture, check --update accepts what has changed; package fixture describes the files.
// Nothing is downloaded.
func Fixtures(t *testing.T, spider tegenaria.SpiderInterface, dir string) {
	t.Helper()
	if spider == nil {
		t.Fatal("spidertest: Fixtures: the spider is nil")
	}
	list, err := fixture.Find(dir)
	if err != nil {
		t.Errorf("spidertest: Fixtures: %v", err)
	}
	ran := false
	for _, f := range list {
		if name := f.Request.Spider; name != "" && name != spider.GetName() {
			continue
		}
		ran = true
		t.Run(f.Name(), func(t *testing.T) {
			page, err := f.Run(t.Context(), spider)
			if err != nil {
				t.Fatal(err)
			}
			found, err := f.Check(page)
			if err != nil {
				t.Fatal(err)
			}
			stack := ""
			if failed := (*tegenaria.HandleError)(nil); errors.As(page.Err, &failed) { // then it is the only line
				stack = framesOf(failed.Stack)
			}
			for _, line := range found {
				t.Error(line + stack)
			}
		})
	}
	if !ran {
		t.Errorf("spidertest: Fixtures: %s has no fixture of the spider %q", dir, spider.GetName())
	}
}
