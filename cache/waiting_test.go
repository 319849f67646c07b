package cache_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/tegenaria/tegenaria/cache"
)

// What waits is read as it was written: in a queue without slot and priority, in the due list with both. Damaged bytes are an
// error. It fails if an attempt of 0 and one of 1 are written alike.
func TestWaitingCodecs(t *testing.T) {
	for _, w := range []cache.Waiting{
		{},
		{Key: [16]byte{1, 2, 3}, Parent: [4]byte{4, 5, 6, 7}, Slot: "a.example", Priority: -3, Depth: 7, Seq: 1 << 40, Data: []byte("data")},
		{Slot: "b", Priority: math.MaxInt32, Depth: 0, Attempt: 1, Data: []byte{0}},
		{Depth: 1 << 20, Attempt: 9, Seq: 1},
	} {
		if w.Data == nil {
			w.Data = []byte{}
		}
		due, err := cache.DueCodec{}.Decode(cache.DueCodec{}.Append(nil, w))
		if len(due.Data) == 0 {
			due.Data = []byte{}
		}
		if err != nil || !reflect.DeepEqual(due, w) {
			t.Errorf("%+v became %+v, %v in the due list", w, due, err)
		}
		queued, err := cache.QueueCodec{}.Decode(cache.QueueCodec{}.Append(nil, w))
		queued.Slot, queued.Priority = w.Slot, w.Priority
		if len(queued.Data) == 0 {
			queued.Data = []byte{}
		}
		if err != nil || !reflect.DeepEqual(queued, w) {
			t.Errorf("%+v became %+v, %v in a queue", w, queued, err)
		}
	}
	if _, err := (cache.DueCodec{}).Decode([]byte{200, 'x'}); err == nil {
		t.Error("a slot that is cut short was read")
	}
	if _, err := (cache.QueueCodec{}).Decode([]byte("short")); err == nil {
		t.Error("a key that is cut short was read")
	}
}
