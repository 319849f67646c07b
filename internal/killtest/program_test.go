package killtest_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m) }

// message is the plan of a program that prints its lines.
type message struct {
	Lines []string
	Fails bool
}

var printing = killtest.NewProgram("printing", func(m *message) error {
	for _, line := range m.Lines {
		fmt.Println(line)
	}
	if m.Fails {
		return errors.New("as it should")
	}
	return nil
})

// It fails if a program does not get its plan, or if its exit code does not say whether it has failed.
func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		output string
	}{
		{"ends well", printing.Command(&message{Lines: []string{`"a" <b>`, "ç"}}).Args, 0, "\"a\" <b>\nç\n"},
		{"fails", printing.Command(&message{Lines: []string{"a"}, Fails: true}).Args, 1, "a\nas it should\n"},
		{"a plan that cannot be read", []string{os.Args[0], "-killtest.program=printing", "-killtest.plan={"}, 1,
			"killtest: reading the plan of the program printing: unexpected end of JSON input\n"},
		{"no such program", []string{os.Args[0], "-killtest.program=singing"}, 1, "killtest: there is no program singing\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := printing.Command(nil)
			cmd.Args = slices.Clone(tt.args)
			p, err := killtest.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if e := p.Wait(); cmd.ProcessState.ExitCode() != tt.code || e.Output != tt.output {
				t.Errorf("%v, the output is %q, want the exit code %d and %q", e.Err, e.Output, tt.code, tt.output)
			}
		})
	}
}
