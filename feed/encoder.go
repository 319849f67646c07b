package feed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
)

// Encoder writes items in one format: [JSONL], [JSON] and [XML] are made of one each, and [New] takes one of your own. A format with
// columns is no Encoder: see [CSV].
type Encoder interface {
	// Encode appends the encoding of an item to dst. It is called concurrently. If it returns an error, the item fails and nothing
	// of it is written.
	Encode(dst []byte, item any) ([]byte, error)
	// Frame returns the text around the items. It is the same in all calls.
	Frame() Frame
}

// Frame is the text around the items of a file. Any part of it may be empty.
type Frame struct {
	Begin   string // before the first item
	Between string // between two items
	After   string // after each item, before Between
	End     string // after the last item: it is written after each batch of items and overwritten by the next one
}

// format is how items become the bytes of files.
type format interface {
	// stage appends an item as it waits until its request is settled. It is called concurrently.
	stage(dst []byte, item any) ([]byte, error)
	// open begins the document of a file, or goes on with one whose state this is.
	open(state json.RawMessage) (document, error)
}

// document is the content of one file, uncompressed.
type document interface {
	// begin appends what comes before the first item.
	begin(dst []byte) []byte
	// add appends an item that was staged. Its error ends the run.
	add(dst, staged []byte) ([]byte, error)
	// end appends what has to follow here if no item does.
	end(dst []byte) []byte
	// state returns what open needs to go on; nil: nothing.
	state() json.RawMessage
	// adopt makes the document go on behind a text that somebody else has written. It returns how many bytes of that are to be cut off.
	adopt(text foreign) (cut int, err error)
}

// framed is the format of an Encoder.
type framed struct {
	encoder Encoder
	frame   Frame
}

func newFramed(e Encoder) format { return framed{e, e.Frame()} }

func (f framed) stage(dst []byte, item any) ([]byte, error) { return f.encoder.Encode(dst, item) }

func (f framed) open(state json.RawMessage) (document, error) {
	d := &framedDocument{frame: f.frame, isJSONLines: f.encoder == Encoder(jsonLines)}
	if state != nil {
		if err := json.Unmarshal(state, &d.hasItems); err != nil {
			return nil, fmt.Errorf("the state of its document is %q", state)
		}
	}
	return d, nil
}

type framedDocument struct {
	frame       Frame
	isJSONLines bool
	hasItems    bool
}

func (d *framedDocument) begin(dst []byte) []byte { return append(dst, d.frame.Begin...) }

func (d *framedDocument) add(dst, staged []byte) ([]byte, error) {
	if d.hasItems {
		dst = append(dst, d.frame.Between...)
	}
	d.hasItems = true
	return append(append(dst, staged...), d.frame.After...), nil
}

func (d *framedDocument) end(dst []byte) []byte { return append(dst, d.frame.End...) }

func (d *framedDocument) state() json.RawMessage {
	if !d.hasItems || d.frame.Between == "" {
		return nil
	}
	return json.RawMessage("true")
}

// adopt takes a text that begins and ends as the document would, white space aside.
func (d *framedDocument) adopt(text foreign) (cut int, err error) {
	if d.isJSONLines {
		return 0, text.isJSONLines()
	}
	if err := text.beginsLike(d.frame.Begin); err != nil {
		return 0, err
	}
	tail, end := text.tail, bytes.TrimSpace([]byte(d.frame.End))
	if len(end) == 0 {
		return 0, nil
	}
	before, ok := bytes.CutSuffix(bytes.TrimSpace(tail), end)
	if !ok {
		return 0, fmt.Errorf("it does not end in %q", end)
	}
	before = bytes.TrimRight(before, " \t\r\n")
	d.hasItems = !text.isWhole() || string(bytes.TrimSpace(before)) != string(bytes.TrimSpace([]byte(d.frame.Begin)))
	keep := len(tail) - len(bytes.TrimLeft(tail, " \t\r\n")) + len(bytes.TrimLeft(before, " \t\r\n"))
	return len(tail) - keep, nil
}

// jsonEncoder writes items as encoding/json does, without escaping <, > and &.
type jsonEncoder struct{ frame Frame }

var (
	jsonLines = jsonEncoder{Frame{After: "\n"}}
	jsonArray = jsonEncoder{Frame{Begin: "[\n", Between: ",\n", End: "\n]\n"}}
)

func (e jsonEncoder) Frame() Frame { return e.frame }

func (e jsonEncoder) Encode(dst []byte, item any) ([]byte, error) { return appendJSON(dst, item) }

// jsonBuffers are used again: what they hold is copied.
var jsonBuffers = sync.Pool{New: func() any {
	b := &jsonBuffer{}
	b.json = json.NewEncoder(&b.buf)
	b.json.SetEscapeHTML(false)
	return b
}}

type jsonBuffer struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// appendJSON appends the JSON of a value.
func appendJSON(dst []byte, v any) ([]byte, error) {
	b := jsonBuffers.Get().(*jsonBuffer)
	defer jsonBuffers.Put(b)
	b.buf.Reset()
	if err := b.json.Encode(v); err != nil {
		b.json = json.NewEncoder(&b.buf) // it keeps its first error
		b.json.SetEscapeHTML(false)
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.buf.Bytes(), []byte{'\n'})...), nil
}
