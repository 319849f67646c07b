package pipeline_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/pipeline"
)

var noon = time.Date(2026, 5, 3, 12, 0, 0, 0, time.FixedZone("", 3600))

type stamped struct {
	Name   string
	Origin *pipeline.Origin
}

type embedding struct {
	pipeline.Origin
	Name string
}

// Items get the page, the spider, the job and the time, in a copy; items of other types pass.
func TestStamp(t *testing.T) {
	const url = "http://user:secret@a.test/x"
	want := pipeline.Origin{URL: "http://user:xxxxx@a.test/x", Time: noon.UTC(), Spider: "test", Job: "monday"}
	options := pipeline.StampOptions{Job: "monday", Clock: func() time.Time { return noon }}
	mine := &stamped{Name: "pointer"}
	loose := map[string]any{"a": 1}
	out, err := crawl(t, map[string][]any{url: {stamped{Name: "a"}, mine, embedding{Name: "b"}, loose, "text"}},
		pipeline.Stamp[stamped](options), pipeline.Stamp[embedding](options), pipeline.Stamp[map[string]any](options))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out.passed, []any{stamped{"a", &want}, &stamped{"pointer", &want}, embedding{want, "b"}, map[string]any{"a": 1, "origin": want}, "text"}) {
		t.Errorf("%+v", out.passed)
	}
	if mine.Origin != nil || len(loose) != 1 {
		t.Error("what the parser holds was changed")
	}
	out = pass(t, []any{mine}, pipeline.Stamp[*stamped](pipeline.StampOptions{}))
	if o := out.passed[0].(*stamped).Origin; o == nil || time.Since(o.Time) > time.Minute || o.Job != "" || o.Time.Location() != time.UTC {
		t.Errorf("%+v", o)
	}
}

func TestStampMistakes(t *testing.T) {
	type twice struct {
		A, B pipeline.Origin
	}
	type through struct{ *embedding }
	_, err := crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.Stamp[twice](pipeline.StampOptions{}), pipeline.Stamp[int](pipeline.StampOptions{}),
		pipeline.Stamp[inner](pipeline.StampOptions{}), pipeline.Stamp[through](pipeline.StampOptions{}))
	for _, want := range []string{"Stamp[pipeline_test.twice]: the fields [A B] are all of type pipeline.Origin", "Stamp[int]: items must be structs",
		"Stamp[pipeline_test.inner]: it has no exported field of type *pipeline.Origin", "Stamp[pipeline_test.through]: it has no exported field"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
