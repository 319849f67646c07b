package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/revisit"
)

// What the folder of --history holds beside the table.
const (
	changesFile = "changes.jsonl" // the feed of changes
	pagesFolder = "pages"         // the HTTP cache, where no other one is given
)

// history is the one of a crawl.
type history struct {
	*revisit.History
	dir    string
	pages  *cachedPages
	before int // the number of the last run before this crawl
	isJob  bool
}

// cachedPages are those of a cache, which is opened after the history: a history that another process has open is named by its own error.
type cachedPages struct{ *httpcache.Cache }

// checkHistory refuses a key without a history.
func (f *crawlFlags) checkHistory() error {
	if f.key != "" && f.history == "" {
		return errors.New("--key names the field that tells the items of a history apart, and there is none: give --history DIR")
	}
	return nil
}

// openHistory opens the history of a crawl, and makes it if there is none; nil if the crawl has none.
func (c *call) openHistory(f *crawlFlags, l *layers, task *task) (*history, error) {
	if f.history == "" {
		return nil, nil
	}
	arguments, err := task.arguments()
	if err != nil {
		return nil, err
	}
	pages := new(cachedPages)
	opened, err := revisit.Open(f.history, revisit.Options{KeyField: f.key, Arguments: arguments, Pages: pages})
	if err != nil {
		return nil, fmt.Errorf("--history: %w", err)
	}
	h := &history{History: opened, pages: pages, dir: f.history, isJob: f.job != ""}
	runs, err := h.Runs()
	if err == nil {
		err = makeChanges(f.history)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if len(runs) > 0 {
		h.before = runs[len(runs)-1].Number
	}
	return h, nil
}

// arguments are what tells two crawls with a spider apart, in one form: its arguments that are not the default, or the URLs. "" is a spider
// without arguments.
func (t *task) arguments() (string, error) {
	if len(t.Args) == 0 && len(t.URLs) == 0 {
		return "", nil
	}
	text, err := json.Marshal(struct { // a map is written in the order of its keys
		URLs     []string          `json:"urls,omitempty"`
		Sitemaps bool              `json:"sitemaps,omitempty"`
		Args     map[string]string `json:"args,omitempty"`
	}{t.URLs, t.Sitemaps, t.Args})
	return string(text), err
}

// makeChanges makes the file of changes, for its owner alone: a feed would make it readable for others.
func makeChanges(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, changesFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// changesFeed is the feed of the changes of a history.
func changesFeed(dir string) *feed.Feed { return feed.JSONL(filepath.Join(dir, changesFile)) }

// openPages opens the HTTP cache of a crawl with a history: that of the settings, or one in the folder of the history. The policy is
// refresh where none is given: by the default one no page would change.
func (c *call) openPages(f *crawlFlags, l *layers) (*httpcache.Cache, error) {
	from, _ := l.origin("cache.policy")
	policy, folder := l.own.Cache.Policy, l.own.Cache.Folder
	if !l.isCached("crawl") { // that of a file is for other commands
		folder = filepath.Join(f.history, pagesFolder)
		if !strings.HasPrefix(from, "flag ") {
			from = ""
		}
	} else if err := l.checkCache(); err != nil {
		return nil, err
	}
	switch {
	case from == "":
		policy = httpcache.Refresh
	case policy == httpcache.Develop || policy == httpcache.Replay:
		fmt.Fprintf(c.err, "%s: with the cache policy %s (%s) stored pages are not asked for again, so nothing on them changes; refresh asks\n",
			c.name, policy, printable(from))
	}
	return httpcache.Open(folder, httpcache.Options{Policy: policy})
}

// sayChanged says what a crawl has found; if quiet, only what its user should look at.
func (c *call) sayChanged(h *history, quiet bool) error {
	runs, err := h.Runs()
	if err != nil || len(runs) == 0 {
		return err
	}
	last := &runs[len(runs)-1]
	if last.Number == h.before && !h.isJob { // it has settled no page
		return nil
	}
	c.sayRun(h.dir, last, quiet)
	return nil
}

// sayRun says what a run has found; if quiet, only what the user should look at.
func (c *call) sayRun(dir string, r *revisit.Run, quiet bool) {
	say := func(format string, values ...any) {
		fmt.Fprintln(c.err, c.name+": "+printable(fmt.Sprintf(format, values...)))
	}
	if !quiet {
		say("run %d of the history %s: %d new, %d changed, %d unchanged, %d removed; pages that keep their items: %d failed, %d read",
			r.Number, dir, r.New, r.Changed, r.Unchanged, r.Removed, r.Failed, r.Kept)
	}
	if !quiet && r.Followed > 0 {
		say("the links of %s that failed were followed as they were stored", counted(int(r.Followed), "page"))
	}
	if !quiet && !r.Complete {
		say("run %d did not come to its end, so it has removed nothing", r.Number)
	}
	if r.Keyless > 0 {
		say("%s without a key on pages that give several: the whole item is the key, so it is new or removed, and never "+
			"changed; --key FIELD names one",
			counted(int(r.Keyless), "item"))
	}
	if r.Withheld > 0 {
		say("%s would be removed, more than a run may remove: look at the site, and at the selectors; %s changes %s "+
			"--accept-removed removes them",
			counted(int(r.Withheld), "item"), c.name, dir)
	}
	if r.Clashes > 0 {
		say("%s another item of the run has the key, with other contents, and that one is in the history", counted(int(r.Clashes), "time"))
		for _, one := range r.Examples {
			say("key %s: %s and %s", cell(one.Key), urlx.Redact(one.First), urlx.Redact(one.Other))
		}
	}
}
