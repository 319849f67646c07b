package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/cli"
)

// A long table has its heads once, and all of its lines; one of no lines has its heads alone.
func TestWriteRows(t *testing.T) {
	const head = "N\tTWICE"
	for _, n := range []int{0, 1, 998, 999, 1000, 2500} {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf("%d\t%d", i, 2*i))
		}
		var out strings.Builder
		if err := cli.WriteRows(&out, head, rows...); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(out.String(), "\n")
		if lines = lines[:len(lines)-1]; len(lines) != n+1 || strings.Join(strings.Fields(lines[0]), "\t") != head {
			t.Fatalf("%d rows: %d lines, the first is %q", n, len(lines), lines[0])
		}
		for i, line := range lines[1:] {
			if strings.Join(strings.Fields(line), "\t") != rows[i] {
				t.Fatalf("%d rows: line %d is %q", n, i+1, line)
			}
		}
	}
}
