package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/revisit"
)

// differences counts how items differ from those of a history, by field.
type differences struct {
	out         io.Writer
	asLines     bool // each one is written at once, as a line of JSON
	added, gone tally
	fields      map[string]*tally
	others      tally // of fields beyond mostFields
}

// tally is how many items differ in a way, and the first of them.
type tally struct {
	items   int64
	example string
}

func (t *tally) add(example string) {
	if t.items++; t.items == 1 {
		t.example = example
	}
}

// mostFields is how many fields are counted each by itself: the keys of maps are fields too.
const mostFields = 1000

func newDifferences(out io.Writer, asLines bool) *differences {
	return &differences{out: out, asLines: asLines, fields: make(map[string]*tally)}
}

// add counts an item that differs. Calls do not overlap.
func (d *differences) add(change revisit.Change) error {
	if d.asLines {
		line, err := jsonLine(change)
		if err == nil {
			_, err = d.out.Write(append(line, '\n'))
		}
		return err
	}
	key := shortened(change.Key)
	switch change.Op {
	case revisit.New:
		d.added.add(key)
		return nil
	case revisit.Removed:
		d.gone.add(key)
		return nil
	}
	var old, now map[string]json.RawMessage
	if json.Unmarshal(change.Old, &old) != nil || json.Unmarshal(change.Item, &now) != nil || old == nil { // items without fields
		old, now = map[string]json.RawMessage{"": change.Old}, map[string]json.RawMessage{"": change.Item}
	}
	for name, value := range old {
		field := d.fields[name]
		if field == nil {
			if field = &d.others; len(d.fields) < mostFields {
				field = &tally{}
				d.fields[name] = field
			}
		}
		field.add(fmt.Sprintf("%s: %s → %s", key, valueText(value), valueText(now[name])))
	}
	return nil
}

// flush writes the table. kept says that what is gone was removed from the history.
func (d *differences) flush(kept bool) error {
	gone := "missing"
	if kept {
		gone = "removed"
	}
	rows := rowWriter{to: d.out, rows: []string{"OP\tFIELD\tITEMS\tSUCH AS"}}
	row := func(op, field string, t *tally) error {
		if t.items == 0 {
			return nil
		}
		return rows.add(fmt.Sprintf("%s\t%s\t%d\t%s", op, cell(shortened(field)), t.items, cell(t.example)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.fields)) {
		if err := row("changed", name, d.fields[name]); err != nil {
			return err
		}
	}
	for _, r := range []struct {
		op, field string
		*tally
	}{{"changed", "(others)", &d.others}, {"new", "", &d.added}, {gone, "", &d.gone}} {
		if err := row(r.op, r.field, r.tally); err != nil {
			return err
		}
	}
	if len(d.fields) == 0 && d.added.items == 0 && d.gone.items == 0 { // the head alone
		return nil
	}
	return rows.flush()
}
