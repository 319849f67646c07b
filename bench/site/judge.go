package site

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// Verdict is what the judge found: pages by the server's log, items by the generator.
type Verdict struct {
	Pages   int // that were served
	Repeats int // pages served again
	Lost    int // pages that were never asked for
	Others  int // requests for what does not exist
	Right   int // items
	Wrong   int // items that differ from what the page shows, that no page shows, and lines that are not items
	Missing int // items that are not there
	Twice   int // items that were there already
}

// Clean reports whether all is as it must be.
func (v Verdict) Clean() bool {
	return v.Repeats == 0 && v.Lost == 0 && v.Others == 0 && v.Wrong == 0 && v.Missing == 0 && v.Twice == 0
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d pages (%d repeats, %d lost, %d requests for others), %d items right, %d wrong, %d missing, %d twice",
		v.Pages, v.Repeats, v.Lost, v.Others, v.Right, v.Wrong, v.Missing, v.Twice)
}

// Worse has the worst of two verdicts in each place.
func (v Verdict) Worse(o Verdict) Verdict {
	return Verdict{
		Pages: min(v.Pages, o.Pages), Repeats: max(v.Repeats, o.Repeats), Lost: max(v.Lost, o.Lost), Others: max(v.Others, o.Others),
		Right: min(v.Right, o.Right), Wrong: max(v.Wrong, o.Wrong), Missing: max(v.Missing, o.Missing), Twice: max(v.Twice, o.Twice),
	}
}

// Judge compares a log and a file of items, one to a line, with the plan. A file that does not exist has no items.
func Judge(plan Plan, log Log, path string) (v Verdict, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return JudgeItems(plan, log, strings.NewReader(""))
	}
	if err != nil {
		return v, err
	}
	v, err = JudgeItems(plan, log, file)
	return v, errors.Join(err, file.Close())
}

// JudgeItems compares a log and items, one to a line, with the plan.
func JudgeItems(plan Plan, log Log, items io.Reader) (Verdict, error) {
	v := Verdict{Pages: log.Pages, Repeats: log.Repeats, Others: log.Others, Lost: plan.Pages - log.Pages}
	err := v.items(plan.Items(), items)
	return v, err
}

// items judges the lines of r.
func (v *Verdict) items(want map[string]Item, r io.Reader) error {
	found := make(map[string]bool)
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			v.item(want, found, line)
		}
		if err == nil {
			continue
		}
		v.Missing += len(want) - len(found)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

func (v *Verdict) item(want map[string]Item, found map[string]bool, line []byte) {
	var it Item
	if err := json.Unmarshal(line, &it); err != nil {
		v.Wrong++
		return
	}
	truth, exists := want[it.SKU]
	switch {
	case !exists || !reflect.DeepEqual(it, truth):
		v.Wrong++
	case found[it.SKU]:
		v.Twice++
	default:
		found[it.SKU] = true
		v.Right++
	}
}
