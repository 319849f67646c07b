package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The 48 books of the shop are in three objects.
func TestBucket(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("it prints %q", out.String())
	}
	for i, want := range []string{"shop-0001.csv.gz, ", "shop-0002.csv.gz, ", "shop-0003.csv.gz, "} {
		if !strings.HasPrefix(lines[i], want) || strings.HasSuffix(lines[i], " 0 bytes") {
			t.Errorf("line %d is %q", i+1, lines[i])
		}
	}
}
