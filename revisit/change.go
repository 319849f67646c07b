package revisit

import (
	"bytes"
	"encoding/json"
	"time"
)

// Op says what has become of an item.
type Op string

// The changes.
const (
	New     Op = "new"     // its key was not in the table
	Changed Op = "changed" // a field of it is another one
	Removed Op = "removed" // no page gives it any more, with a proof
)

// Proof says why an item is known to be removed.
type Proof string

// The proofs.
const (
	PageGone    Proof = "page gone"   // its page was asked for, and the answer was 404 or 410
	NotOnPage   Proof = "not on page" // its page was read and does not give it, and no other page of a run that came to its end does
	Unreachable Proof = "unreachable" // the run came to its end, and nothing leads to its page
)

// Change is what the feed of [History.Changes] writes: one item that is new, changed or removed.
type Change struct {
	Op   Op              `json:"op"`
	Key  string          `json:"key"`
	URL  string          `json:"url"`            // of the page that gives the item; of a removed one, that gave it last
	Item json.RawMessage `json:"item,omitempty"` // as it is now; of a removed one, as it was
	// Old are the fields that have changed, as they were; null stands for one that is new.
	Old   json.RawMessage `json:"old,omitempty"`
	Run   int             `json:"run"` // its number, from 1
	Time  time.Time       `json:"time"`
	Proof Proof           `json:"proof,omitempty"` // of a removed item
}

// canonical returns the JSON of an item in a form that is equal for equal items: keys of objects are sorted, and there are no spaces.
func canonical(text []byte) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return marshal(v)
}

// marshal is json.Marshal, which leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// fieldsOf returns the fields of an item; ok is false if it is no object.
func fieldsOf(item []byte) (fields map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal(item, &fields)
	return fields, err == nil && fields != nil
}

// oldFields returns what fields of an item were that have changed. Of an item that has no fields it is the item.
func oldFields(before, now []byte) (json.RawMessage, error) {
	was, ok := fieldsOf(before)
	is, also := fieldsOf(now)
	if !ok || !also {
		return before, nil
	}
	old := make(map[string]json.RawMessage)
	for name, value := range was {
		if other, has := is[name]; !has || !bytes.Equal(value, other) {
			old[name] = value
		}
	}
	for name := range is {
		if _, had := was[name]; !had {
			old[name] = json.RawMessage("null")
		}
	}
	return marshal(old)
}
