package tegenaria

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// RequestWithData attaches a value to a request, which [Data] returns from its response: for example a price from a
// list, for the page of the product. The value survives redirects, retries and, with a durable cache, the process. It
// is stored as JSON under the name of the type T, even in a memory cache, so fields that encoding/json ignores are
// lost. A second value replaces the first. If it cannot be encoded as JSON, the request fails with a [*DataError] when
// it is sent.
func RequestWithData[T any](v T) RequestOption {
	return func(r *Request) {
		d, err := wire.NewDatum(v)
		if err != nil {
			r.fail(&DataError{URL: r.Url, Sent: wire.TypeName[T](), Err: err})
			return
		}
		r.newExtras().Data = d
	}
}

// RequestWithDataJSON is RequestWithData for a value that is JSON already, as [Request.DataJSON] returns it: [Data]
// reads it as whatever type it is asked for. It is for tools that write requests down, such as tests with saved pages.
func RequestWithDataJSON(value []byte) RequestOption {
	return func(r *Request) {
		if !json.Valid(value) {
			r.fail(&DataError{URL: r.Url, Sent: "json.RawMessage", Err: errors.New("it is no JSON")})
			return
		}
		r.newExtras().Data = &wire.Datum{JSON: bytes.Clone(value)}
	}
}

// DataJSON returns the value that [RequestWithData] attached, as JSON; nil if there is none.
func (r *Request) DataJSON() []byte {
	if d := r.extras().Data; d != nil {
		return bytes.Clone(d.JSON)
	}
	return nil
}

// Data returns the value that [RequestWithData] attached to the request of a response, as a new copy each time. The
// error is a [*DataError] if the request has no value, or one of another type. It may be called concurrently.
func Data[T any](resp *Response) (T, error) {
	var none T
	want := wire.TypeName[T]()
	if resp == nil || resp.req == nil {
		return none, &DataError{Wanted: want}
	}
	url, d := resp.req.Url, resp.req.extras().Data
	switch {
	case d == nil:
		return none, &DataError{URL: url, Wanted: want}
	case d.Type != "" && d.Type != want:
		return none, &DataError{URL: url, Sent: d.Type, Wanted: want}
	}
	v, err := wire.Decode[T](d)
	if err != nil {
		return none, &DataError{URL: url, Sent: d.Type, Wanted: want, Err: err}
	}
	return v, nil
}

// DataError is the error of a value that [RequestWithData] could not encode, or that [Data] did not find.
type DataError struct {
	URL    string // of the request
	Sent   string // the type of the value that the request has, with the import path of its package; "" if it has none
	Wanted string // the type that Data was asked for; "" if the value could not be sent
	Err    error  // of encoding/json; nil if the types differ
}

// Error names both types and the remedy.
func (e *DataError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *DataError) WithoutURL(shown string) string {
	url := errtext.At(" of ", e.URL, shown)
	switch {
	case e.Wanted == "":
		return fmt.Sprintf("RequestWithData%s: a value of the type %s cannot be written as JSON: %v; send a type that can, "+
			"or Meta with the memory cache", url, e.Sent, e.Err)
	case e.Err != nil && e.Sent == "":
		return fmt.Sprintf("Data%s: the JSON of RequestWithDataJSON cannot be read as %s: %v", url, e.Wanted, e.Err)
	case e.Err != nil:
		return fmt.Sprintf("Data%s: its value was sent as %s, and cannot be read as that now: %v; has the type changed "+
			"since the job began?", url, e.Sent, e.Err)
	case e.Sent == "":
		return fmt.Sprintf("Data%s: the request has no data, and %s is asked for; send it with RequestWithData",
			url, e.Wanted)
	}
	return fmt.Sprintf("Data%s: the request has data of the type %s, and %s is asked for; ask for the type that was "+
		"sent, a pointer and its value being two types", url, e.Sent, e.Wanted)
}

// Unwrap returns the error of encoding/json.
func (e *DataError) Unwrap() error { return e.Err }
