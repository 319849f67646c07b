package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/outfile"
	"github.com/tegenaria/tegenaria/internal/setting"
)

// pastRun is what is kept of a run of the command crawl.
type pastRun struct {
	ID       string            `json:"id"`     // its begin in UTC, 20261129-141502
	Spider   string            `json:"spider"` // or the URLs of a crawl of sites
	Began    time.Time         `json:"began"`
	Code     int               `json:"code"` // the exit code
	Reason   string            `json:"reason"`
	Error    string            `json:"error,omitempty"`
	Finished bool              `json:"finished"` // with exit code 0, and not stopped by a limit
	Job      string            `json:"job,omitempty"`
	Args     map[string]string `json:"args,omitempty"`     // those that are not the default, without secrets
	Settings map[string]string `json:"settings,omitempty"` // those that are not the default; secrets are masked
	Rules    []judgedRule      `json:"rules,omitempty"`
	Stats    tegenaria.Stats   `json:"stats"` // of all runs of its job
}

// judgedRule is a rule, and the counts by which it was judged.
type judgedRule struct {
	Rule   string   `json:"rule"`
	Holds  bool     `json:"holds"`
	Values []string `json:"values,omitempty"` // "item_scraped = 20"
}

// mostRuns is how many runs of a spider are kept.
const mostRuns = 50

// runFolder is where runs are kept: in .tegenaria beside the settings file, or else in the working directory.
func (c *call) runFolder() (string, error) {
	file, err := readSettings(c.config)
	if err != nil {
		return "", err
	}
	dir := "."
	if file.path != "" {
		dir = filepath.Dir(file.path)
	}
	return filepath.Join(dir, ".tegenaria", "runs"), nil
}

// readRuns reads the runs of a folder, the oldest first; spider is "" for all spiders. With an error it returns those that can be read.
func readRuns(folder, spider string) (runs []*pastRun, err error) {
	names, err := fs.Glob(os.DirFS(folder), "*.json")
	errs := []error{err}
	for _, name := range names {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 { // another crawl has removed it, or is about to write it
			continue
		}
		var run pastRun
		if err == nil {
			err = json.Unmarshal(text, &run)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the past run in %s: %w; remove the file to do without it", path, err))
			continue
		}
		if run.ID = strings.TrimSuffix(name, ".json"); spider == "" || run.Spider == spider {
			runs = append(runs, &run)
		}
	}
	slices.SortFunc(runs, func(a, b *pastRun) int { return a.Began.Compare(b.Began) })
	return runs, errors.Join(errs...)
}

// keep writes the run into a folder, and removes the oldest ones of its spider if there are too many.
func (r *pastRun) keep(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	began := r.Began.UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		if r.ID = began; n > 1 { // others have begun in the same second
			r.ID += "-" + strconv.Itoa(n)
		}
		file, err := os.OpenFile(filepath.Join(folder, r.ID+".json"), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		break
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return err
	}
	if err := outfile.Replace(filepath.Join(folder, r.ID+".json"), text.Bytes(), 0o600); err != nil {
		return err
	}
	runs, _ := readRuns(folder, r.Spider) // what cannot be read is told to those who ask for it
	for _, old := range runs[:max(0, len(runs)-mostRuns)] {
		if err := os.Remove(filepath.Join(folder, old.ID+".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// changedSettings are the settings of an engine that are not the default, by name.
func changedSettings(e *tegenaria.SpiderEngine, l *layers) map[string]string {
	changed := make(map[string]string)
	now, defaults := e.Settings(), tegenaria.NewSpiderEngine().Settings()
	byDefault := leaves(&defaults)
	for _, leaf := range setting.List(&now) {
		if text, ok := byDefault[leaf.Key]; ok && text == leaf.Text {
			continue
		}
		s := shownSetting{Name: leaf.Key, Value: leaf.Text}
		_, secret := l.origin(leaf.Key)
		s.mask(secret)
		changed[s.Name] = s.Value
	}
	return changed
}

// finishedStats are the counts of the runs of a spider that have finished, the newest first.
func finishedStats(runs []*pastRun) (list []tegenaria.Stats) {
	for _, run := range slices.Backward(runs) {
		if run.Finished {
			list = append(list, run.Stats)
		}
	}
	return list
}

// runsCommand makes the commands that show past runs.
func (c *call) runsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "runs [SPIDER]", Short: "list past runs, and compare them",
		Long: fmt.Sprintf("Lists the past runs of the command crawl, the newest last: of one spider, or of all. The last %d runs of each spider "+
			"are kept in .tegenaria/runs, beside the settings file or else in the working directory.", mostRuns),
		Example: "  " + c.name + " runs\n  " + c.name + " runs compare 20261128-030000 20261129-030000",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one spider, and was given %q too", cmd.CommandPath(), args[1])
			}
			return nil
		},
		ValidArgsFunction: c.completeSpiders,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := c.pastRuns(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(c.out)
				encoder.SetEscapeHTML(false)
				for _, run := range runs {
					if err := encoder.Encode(run); err != nil {
						return err
					}
				}
				return nil
			}
			return table(c.out, func(w io.Writer) {
				fmt.Fprintln(w, "RUN\tSPIDER\tTIME\tPAGES\tITEMS\tERRORS\tCODE\tREASON")
				for _, run := range runs {
					s := &run.Stats
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", run.ID, printable(run.Spider), s.Elapsed.Round(time.Second),
						s.Responses, s.ItemScraped, s.ErrorCount, run.Code, printable(run.Reason))
				}
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a line of JSON for each run, with its arguments, settings, rules and counts")
	cmd.AddCommand(&cobra.Command{
		Use: "compare RUN RUN", Short: "say what differs between two runs",
		Long: "Says what differs between two runs, by their names in the list: arguments, settings, counts, the filled part " +
			"of fields, status codes.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s needs the names of two runs, and was given %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: c.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			runs, err := c.pastRuns("")
			if err != nil {
				return err
			}
			var of [2]*pastRun
			for i, id := range args {
				at := slices.IndexFunc(runs, func(run *pastRun) bool { return run.ID == id })
				if at < 0 {
					return usagef("there is no run %q; %s runs lists them", id, c.name)
				}
				of[i] = runs[at]
			}
			return compareRuns(c.out, of[0], of[1])
		},
	})
	return cmd
}

// pastRuns reads the runs of a spider, or of all.
func (c *call) pastRuns(spider string) ([]*pastRun, error) {
	folder, err := c.runFolder()
	if err != nil {
		return nil, err
	}
	return readRuns(folder, spider)
}

// completeRuns completes the names of runs.
func (c *call) completeRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	runs, _ := c.pastRuns("") // without them there is nothing to complete
	var names []cobra.Completion
	for _, run := range slices.Backward(runs) {
		names = append(names, cobra.CompletionWithDesc(run.ID, run.Spider))
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// compareRuns writes a table of what differs between two runs.
func compareRuns(out io.Writer, a, b *pastRun) error {
	return table(out, func(w io.Writer) {
		fmt.Fprintf(w, "RUN\t%s\t%s\n", a.ID, b.ID)
		left, right := a.facts(), b.facts()
		for _, name := range slices.Sorted(maps.Keys(union(left, right))) {
			if x, y := left[name], right[name]; x != y {
				fmt.Fprintf(w, "%s\t%s\t%s\n", printable(name), printable(orDash(x)), printable(orDash(y)))
			}
		}
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// facts is all that may differ between runs, by name.
func (r *pastRun) facts() map[string]string {
	s := &r.Stats
	all := map[string]string{
		"spider": r.Spider, "code": strconv.Itoa(r.Code), "reason": r.Reason, "error": r.Error, "job": r.Job, "time": s.Elapsed.Round(time.Second).String(),
		"responses": strconv.FormatInt(s.Responses, 10), "bytes": strconv.FormatInt(s.Bytes, 10), "errors": strconv.FormatInt(s.ErrorCount, 10),
		"items": strconv.FormatInt(s.ItemScraped, 10), "items dropped": strconv.FormatInt(s.ItemDropped, 10),
		"items failed": strconv.FormatInt(s.ItemFailed, 10), "retries": strconv.FormatInt(s.Retries, 10),
	}
	for name, value := range r.Args {
		all["argument "+name] = value
	}
	for name, value := range r.Settings {
		all["setting "+name] = value
	}
	for status, n := range s.Status {
		all["status "+strconv.Itoa(status)] = strconv.FormatInt(n, 10)
	}
	for reason, n := range s.Reasons {
		all["requests "+reason] = strconv.FormatInt(n, 10)
	}
	for reason, n := range s.ItemReasons {
		all["items "+reason] = strconv.FormatInt(n, 10)
	}
	for name, part := range fillOf(s.Fields) {
		all["filled "+name] = strconv.FormatFloat(100*part, 'f', 1, 64) + " %"
	}
	return all
}
