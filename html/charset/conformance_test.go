package charset_test

import (
	"bytes"
	"testing"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

// TestHTML5Lib has the cases of html5lib-tests for the declaration of an encoding. Where they expect
// the default, nothing must be declared: that such a page may be UTF-8 all the same is not theirs to
// say.
func TestHTML5Lib(t *testing.T) {
	for _, test := range []struct {
		file  string
		cases int
	}{{"tests1.dat", 59}, {"tests2.dat", 22}, {"test-yahoo-jp.dat", 1}} {
		t.Run(test.file, func(t *testing.T) {
			n := 0
			cases := bytes.Split(conformance.Read(t, "html5lib", "encoding", test.file), []byte("#data\n"))
			for _, c := range cases[1:] {
				page, rest, ok := bytes.Cut(c, []byte("\n#encoding\n"))
				if !ok {
					t.Fatalf("no #encoding in %q", c)
				}
				label, _, _ := bytes.Cut(rest, []byte("\n"))
				want, ok := charset.Lookup(string(label))
				if !ok {
					t.Fatalf("unknown label %q", label)
				}
				n++
				got, source := charset.Detect(page, "")
				if source > charset.ByDocument {
					got = charset.Windows1252
				}
				if got != want {
					t.Errorf("case %d: %v by %v, want %v, in\n%.200s", n, got, source, want, page)
				}
			}
			if n != test.cases {
				t.Errorf("%d cases, want %d", n, test.cases)
			}
		})
	}
}
