package tegenaria

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/jsonsize"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Json decodes a JSON object. It is nil if the body is anything else; [Response.Decode] says why.
func (r *Response) Json() map[string]any {
	var v map[string]any
	if r.Decode(&v) != nil {
		return nil
	}
	return v
}

// Decode decodes a JSON body into v. What that takes is estimated from the body and from v's type, and counts as made of
// the page: the error of a body that takes too much is a [*selector.ParseError]. A decoder of encoding/json that reads
// [Response.Reader] takes less, value by value. A spooled body is read into memory, as for [Response.CSS].
func (r *Response) Decode(v any) error {
	if err := r.decodeJSON(v); err != nil {
		return fmt.Errorf("tegenaria: decoding the JSON of %s: %w", urlx.Redact(r.URL), err)
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
		if err := r.growCopy(0, jsonsize.Of(body, v)); err != nil {
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
