package killtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// Program is what the binary of a package's tests runs instead of the tests when [Program.Command] starts it. The plan, which is sent to
// it as JSON, says what it does this time.
type Program[Plan any] struct{ name string }

// programs are the programs of this binary by name. Each is called with its plan as JSON.
var programs = make(map[string]func(plan string) error)

// NewProgram makes a program whose name no other one of the package has. It is called for a variable of the package, since a program has
// to be there before [Main] is called. If run returns an error, the program prints it and ends with the exit code 1.
func NewProgram[Plan any](name string, run func(Plan) error) Program[Plan] {
	programs[name] = func(text string) error {
		var plan Plan
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			return fmt.Errorf("killtest: reading the plan of the program %s: %w", name, err)
		}
		return run(plan)
	}
	return Program[Plan]{name}
}

// Command makes a command that runs the program. It panics if the plan cannot be written as JSON.
func (p Program[Plan]) Command(plan Plan) *exec.Cmd {
	text, err := json.Marshal(plan)
	if err != nil {
		panic(err)
	}
	return exec.Command(os.Args[0], "-killtest.program", p.name, "-killtest.plan", string(text))
}

// Main is the TestMain of a package that has programs. It fails the package if a test leaves a goroutine behind.
func Main(m *testing.M) {
	RunProgram()
	goleak.VerifyTestMain(m)
}

// RunProgram parses the flags. If they name a program, it runs that and ends the process. It is for a TestMain that does more than [Main].
func RunProgram() {
	name := flag.String("killtest.program", "", "run this program instead of the tests, which start it themselves")
	plan := flag.String("killtest.plan", "", "what that program does, as JSON")
	flag.Parse()
	if *name == "" {
		return
	}
	err := fmt.Errorf("killtest: there is no program %s", *name)
	if run := programs[*name]; run != nil {
		err = run(*plan)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
