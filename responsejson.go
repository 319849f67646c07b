package tegenaria

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Json decodes a JSON object. It is nil if the body is anything else; [Response.Decode] says why.
func (r *Response) Json() map[string]any {
	var v map[string]any
	if r.Decode(&v) != nil {
		return nil
	}
	return v
}

// Decode decodes a JSON body into v. What that may take, if v holds any value, counts as made of the page: the error of a
// body that takes too much is a [*selector.ParseError]. A decoder of encoding/json that reads [Response.Reader] takes less,
// value by value. A spooled body is read into memory, as for [Response.CSS].
func (r *Response) Decode(v any) error {
	if err := r.decodeJSON(v); err != nil {
		return fmt.Errorf("tegenaria: decoding the JSON of %s: %w", redact(r.URL), err)
	}
	return nil
}

func (r *Response) decodeJSON(v any) error {
	r.mu.Lock()
	body, err := r.inMemory()
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if len(body) > smallPage {
		if err := r.growCopy(jsonSize(body)); err != nil {
			return err
		}
	}
	// It reads all before it touches v. What is wrong, the decoder says better.
	err = json.Unmarshal(body, v)
	if wrong := (*json.SyntaxError)(nil); !errors.As(err, &wrong) || len(body) > uncharged {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// What values take that are decoded into an interface, in bytes: a map of a few entries, the memory of an array while it
// grows, an element or an entry.
const (
	jsonObject  = 384
	jsonArray   = 128
	jsonElement = 64
)

// jsonSize returns how many bytes the values of a JSON text may take, by the signs that separate them. Those inside of
// strings are taken for others.
func jsonSize(text []byte) int64 {
	count := func(sign string) int64 { return int64(bytes.Count(text, []byte(sign))) }
	return int64(len(text)) + jsonObject*count("{") + jsonArray*count("[") + jsonElement*count(",")
}
