package tegenaria

import (
	"encoding/json"
	"testing"
)

// Who looks into a job has neither its parsers nor its types.
func TestRecordRequest(t *testing.T) {
	r := NewRequest("https://a.example/x", POST, nil, RequestWithParserName("other"), RequestWithBody([]byte("body")),
		RequestWithRequestMeta(map[string]any{"at": metaPoint{1, 2}, "n": 3}))
	c := testCodec(t, true)
	data, _, err := c.encode(nil, NewContext(r), false)
	if err != nil {
		t.Fatal(err)
	}
	rec := Record{Data: data, Priority: 1, Depth: 2, Attempt: 3}
	got, err := rec.Request()
	if err != nil {
		t.Fatal(err)
	}
	if got.Url != r.Url || got.Method != POST || string(got.Body) != "body" || got.Priority != 1 || got.Depth != 2 || got.Attempt != 3 {
		t.Errorf("got %+v", got)
	}
	if raw, ok := got.Meta["at"].(json.RawMessage); !ok || string(raw) != `{"X":1,"Y":2}` || got.Meta["n"] != 3 {
		t.Errorf("meta %#v", got.Meta)
	}
	for _, bad := range []string{"", "\x01", "\xff", "\x01\x04PO"} {
		rec.Data = []byte(bad)
		if got, err := rec.Request(); err == nil {
			t.Errorf("%q became %+v", bad, got)
		}
	}
}
