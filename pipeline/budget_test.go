package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
	"github.com/tegenaria/tegenaria/spidertest"
)

// Of each host, type or key so many items pass; the others are dropped with the reason.
func TestBudget(t *testing.T) {
	items := map[string][]any{
		"http://a.test/1": {1, "a", 2, "b", 3}, "http://a.test/2": {4, "c"}, "http://b.test/": {5, "d"},
	}
	for _, tt := range []struct {
		name   string
		by     func(*tegenaria.Context, any) string
		passed int
		reason string
	}{
		{"by host", nil, 2 + 2, `"a.test" already has the 2 items`},
		{"by type", pipeline.ByType, 2 + 2, `"int" already has the 2 items`},
		{"by a key of one's own", func(_ *tegenaria.Context, item any) string { return strings.TrimLeft(fmt.Sprint(item), "0123456789") }, 5 + 4, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			part := pipeline.Budget(pipeline.BudgetOptions{Items: 2, By: tt.by})
			for range 2 { // each run counts anew
				out, err := crawl(t, items, part)
				if err != nil || len(out.passed) != tt.passed || len(out.dropped) != 9-tt.passed || len(out.failed) != 0 {
					t.Fatalf("%v: passed %v, dropped %d, failed %v", err, out.passed, len(out.dropped), out.failed)
				}
				var budget *pipeline.BudgetError
				reasons := ""
				for _, d := range out.dropped {
					if !errors.As(d.Err, &budget) || budget.Items != 2 {
						t.Fatalf("dropped because of %v", d.Err)
					}
					reasons += d.Err.Error() + "\n"
				}
				if !strings.Contains(reasons, tt.reason) {
					t.Errorf("%q is not in %q", tt.reason, reasons)
				}
			}
		})
	}
}

func TestBudgetMistakes(t *testing.T) {
	_, err := crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.Budget(pipeline.BudgetOptions{Keys: -1}))
	if err == nil || !strings.Contains(err.Error(), "Items is 0") || !strings.Contains(err.Error(), "Keys is -1") {
		t.Error(err)
	}
	_, err = crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.Budget(pipeline.BudgetOptions{Items: 1}), pipeline.Budget(pipeline.BudgetOptions{Items: 2}))
	if err == nil || !strings.Contains(err.Error(), `two pipelines have the CommitKey "pipeline:budget"`) {
		t.Error(err)
	}
	out, err := crawl(t, map[string][]any{"http://a.test/": {1, "a"}}, pipeline.Budget(pipeline.BudgetOptions{Items: 1, By: pipeline.ByType, Keys: 1}))
	var full *pipeline.BudgetFullError
	if !errors.As(err, &full) || full.Keys != 1 {
		t.Errorf("%v, passed %v", err, out.passed)
	}
	part := committer(pipeline.Budget(pipeline.BudgetOptions{Items: 1}))
	if err := part.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "set BudgetOptions.File") {
		t.Errorf("a job that can be resumed, without a file: %v", err)
	}
}

func committer(p tegenaria.PipelinesInterface) tegenaria.Committer { return p.(tegenaria.Committer) }

// stage sends an item through a committer.
func stage(t testing.TB, c tegenaria.Committer, url, id string, item any) (any, error) {
	t.Helper()
	meta := &tegenaria.ItemMeta{CtxId: id, Item: item}
	err := c.(tegenaria.ContextPipeline).ProcessItemContext(page(url, id), meta)
	return meta.Item, err
}

func closed(t testing.TB, c tegenaria.Committer) {
	t.Helper()
	if err := c.(tegenaria.Closer).Close(context.Background(), ""); err != nil {
		t.Error(err)
	}
}

// What was settled is counted once, whatever crashes: the file is read by a reader of the test's own.
func TestBudgetCommits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "budget")
	made := 0
	spidertest.TestCommitter(t, spidertest.CommitterHarness{
		Open: func(testing.TB) tegenaria.Committer {
			return committer(pipeline.Budget(pipeline.BudgetOptions{Items: 1, File: file, By: func(_ *tegenaria.Context, item any) string { return fmt.Sprint(item) }}))
		},
		Stage: func(t testing.TB, c tegenaria.Committer, id string, result int) {
			made = max(made, result+1)
			if _, err := stage(t, c, "http://a.test/", id, result); err != nil {
				t.Fatalf("%d: %v", result, err)
			}
			if _, err := stage(t, c, "http://a.test/", "another", result); err == nil {
				t.Fatalf("%d passed twice", result)
			}
		},
		StageLate: func(t testing.TB, c tegenaria.Committer, id string, result int) {
			_, _ = stage(t, c, "http://a.test/", id, result)
		},
		Read: func(t testing.TB) (results []int) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			numbers := make(map[string]int)
			for n := range made {
				sum := sha256.Sum256(fmt.Append(nil, n))
				numbers[string(sum[:16])] = n
			}
			for text = []byte(strings.TrimPrefix(string(text), "tegenaria budget 1\n")); len(text) > 0; text = text[20:] {
				for range binary.LittleEndian.Uint32(text[16:]) {
					results = append(results, numbers[string(text[:16])])
				}
			}
			return results
		},
		AnyOrder: true,
		Kill:     closed,
	})
}

// An item whose func has overrun its limit counts nothing: the next attempt at its page sends it again. It fails if Budget or
// NearDuplicates do not ask whether the context has ended.
func TestItemOfALateFunc(t *testing.T) {
	late := true
	end := func() {}
	overrun := func() {
		if late {
			end()
		}
	}
	for name, c := range map[string]tegenaria.Committer{
		"budget": committer(pipeline.Budget(pipeline.BudgetOptions{Items: 1, File: filepath.Join(t.TempDir(), "budget"), By: func(*tegenaria.Context, any) string { overrun(); return "a" }})),
		"near":   committer(pipeline.NearDuplicates(func(v text) string { overrun(); return v.Text }, pipeline.NearOptions{Drop: true, File: filepath.Join(t.TempDir(), "near")})),
	} {
		if err := c.Restore(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		item := text{Text: words(1, 0)}
		ctx := page("http://a.test/", "first")
		ctx.Ctx, end = context.WithCancel(t.Context())
		defer end()
		late = true
		if err := c.(tegenaria.ContextPipeline).ProcessItemContext(ctx, &tegenaria.ItemMeta{CtxId: "first", Item: item}); err != context.Canceled {
			t.Errorf("%s: the late one: %v, want that its context has ended", name, err)
		}
		late = false
		if _, err := stage(t, c, "http://a.test/", "second", item); err != nil {
			t.Errorf("%s: the next attempt: %v", name, err)
		}
		closed(t, c)
	}
}

// A file of another job, one that was cut, changed or is none is refused.
func TestStateFiles(t *testing.T) {
	for name, open := range map[string]func(file string) tegenaria.Committer{
		"budget": func(file string) tegenaria.Committer {
			return committer(pipeline.Budget(pipeline.BudgetOptions{Items: 9, File: file}))
		},
		"near": func(file string) tegenaria.Committer {
			return committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: file, Shingles: 1}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			c := open(file)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(c.Restore(t.Context(), nil))
			_, err := stage(t, c, "http://a.test/", "1", text{Text: "one two three four"})
			must(err)
			checkpoint, err := c.Prepare(t.Context(), []string{"1"})
			must(err)
			if again, err := c.Prepare(t.Context(), nil); err != nil || string(again) != string(checkpoint) {
				t.Errorf("nothing more: %q, %v", again, err)
			}
			closed(t, c)
			whole, err := os.ReadFile(file)
			must(err)
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			for _, tt := range []struct {
				name, content, checkpoint, want string
			}{
				{"another job", string(whole), "", "the state of another job: remove it"},
				{"cut", string(whole[:len(whole)-1]), string(checkpoint), "there were"},
				{"changed", string(whole[:len(whole)-1]) + "x", string(checkpoint), "have changed"},
				{"more", string(whole) + "more", string(checkpoint), ""},
				{"no checkpoint", string(whole), "nonsense", "its checkpoint is"},
			} {
				must(os.WriteFile(file, []byte(tt.content), 0o600))
				c, stored := open(file), []byte(tt.checkpoint)
				if tt.checkpoint == "" {
					stored = nil
				}
				err := c.Restore(t.Context(), stored)
				if tt.want == "" {
					must(err)
					closed(t, c)
					if text, err := os.ReadFile(file); err != nil || string(text) != string(whole) {
						t.Errorf("%s: %q, %v", tt.name, text, err)
					}
				} else if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
				}
			}
			if err := open(filepath.Join(file, "x")).Restore(t.Context(), nil); err == nil {
				t.Error("a file in a file")
			}
		})
	}
}
