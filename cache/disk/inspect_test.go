package disk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

// TestInspect looks into a job of nine requests in all states.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	c, _ := begun(t, dir)
	accept(t, c, nodes(0, 6)...) // 5 is delayed
	parent := take(t, c, "host0", 1)
	if nodeOf(parent[0]) != 3 {
		t.Fatalf("%v", parent)
	}
	child := nodeRecord(6)
	child.Parent = parent[0].Key
	accept(t, c, child)
	grandchild := nodeRecord(9)
	commit(t, c, tegenaria.Batch{
		Settled:  []tegenaria.Settled{{Record: parent[0], Outcome: tegenaria.Fetched, Status: 200, At: time.Unix(7, 0)}},
		Counters: map[string]int64{"settled": 1},
		Started:  true,
	})
	flying := take(t, c, "host0", 2)
	if nodeOf(flying[1]) != 6 {
		t.Fatalf("%v", flying)
	}
	grandchild.Parent = flying[1].Key
	accept(t, c, grandchild)
	if got := settle(t, c, "host1", 1, tegenaria.Failed, "download"); got[0] != 1 {
		t.Fatal(got)
	}
	if _, err := c.Replay(t.Context(), nil); err == nil {
		t.Error("a running job was changed")
	}
	closed(t, c)

	c = open(t, dir)
	status := statusOf(t, c)
	if status.Spider != "nodes" || !status.Started || status.Finished || status.Waiting != 5 || status.Delayed != 1 || status.Settled != 2 ||
		status.Dead != 1 || status.Counters["settled"] != 1 || len(status.Hosts) != 3 || status.Hosts[0].Pending != 3 ||
		status.Oldest == nil || nodeOf(status.Oldest.Record) != 0 {
		t.Errorf("status %+v", status)
	}
	if text := status.String(); !strings.Contains(text, "5 waiting at 3 hosts, 1 delayed, 2 settled, 1 of them dead") {
		t.Error(text)
	}
	var pending []string
	for _, info := range all(t, c.Pending(t.Context())) {
		pending = append(pending, fmt.Sprintf("%s %s %d %v", info.State, info.Record.Slot, nodeOf(info.Record), info.NotBefore.Unix() > 0))
	}
	if want := []string{"waiting host0 9 false", "waiting host0 0 false", "waiting host0 6 false", "waiting host1 4 false", "waiting host2 2 false", "delayed host2 5 true"}; !slices.Equal(pending, want) {
		t.Errorf("pending %q, want %q", pending, want)
	}
	var ended []string
	for _, info := range all(t, c.Outcomes(t.Context())) {
		ended = append(ended, fmt.Sprintf("%d %s %s %d %d", nodeOf(info.Record), info.Outcome, info.Reason, info.Status, info.At.Unix()))
	}
	if want := []string{"1 failed download 0 5", "3 fetched  200 7"}; !slices.Equal(ended, want) {
		t.Errorf("outcomes %q, want %q", ended, want)
	}
	chain, err := c.Explain(t.Context(), grandchild.Key)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, info := range chain {
		names = append(names, fmt.Sprintf("%d %s", nodeOf(info.Record), info.State))
	}
	if want := []string{"9 waiting", "6 waiting", "3 settled"}; !slices.Equal(names, want) {
		t.Errorf("explained %q, want %q", names, want)
	}
	if _, err := c.Explain(t.Context(), tegenaria.Key{1}); !errors.Is(err, disk.ErrUnknown) {
		t.Errorf("an unknown key: %v", err)
	}

	// The dead letter runs again, and a host goes.
	if n, err := c.Replay(t.Context(), func(info disk.Info) bool { return info.Reason == "other" }); n != 0 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	if n, err := c.Replay(t.Context(), nil); n != 1 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	if n, err := c.DropHost(t.Context(), "host2", "not wanted"); n != 2 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	if n, err := c.DropHost(t.Context(), "nobody", "not wanted"); n != 0 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	closed(t, c)
	c, state := begun(t, dir)
	if !state.Started || state.Delayed != 0 {
		t.Errorf("state %+v", state)
	}
	if got := settle(t, c, "host1", 2, tegenaria.Fetched, ""); got[0] != 1 && got[1] != 1 {
		t.Errorf("host1 had %v", got)
	}
	if got := settle(t, c, "host0", 3, tegenaria.Fetched, ""); len(got) != 3 {
		t.Errorf("host0 had %v", got)
	}
	if status := statusOf(t, c); status.Waiting != 0 || status.Dead != 0 || status.Settled != 8 || status.Oldest != nil {
		t.Errorf("%v", status)
	}
	dropped, err := c.Explain(t.Context(), nodeRecord(5).Key)
	if err != nil || dropped[0].Outcome != tegenaria.Dropped || dropped[0].Reason != "not wanted" {
		t.Errorf("%+v, %v", dropped, err)
	}
	closed(t, c)
}

// A dead letter of a finished job makes it unfinished.
func TestReplayFinished(t *testing.T) {
	dir := t.TempDir()
	c, _ := begun(t, dir)
	accept(t, c, nodes(0, 1)...)
	settle(t, c, "host0", 1, tegenaria.GaveUp, "status 503")
	commit(t, c, tegenaria.Batch{Started: true, Finished: "finished"})
	closed(t, c)
	c = open(t, dir)
	if n, err := c.Replay(t.Context(), nil); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	state, err := c.Begin(t.Context(), testJob)
	if err != nil || state.Finished {
		t.Errorf("%+v, %v", state, err)
	}
	if got := settle(t, c, "host0", 1, tegenaria.Fetched, ""); got[0] != 0 {
		t.Error(got)
	}
	closed(t, c)
}
