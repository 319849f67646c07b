// Package killtest starts a program again and again, and kills it each time, until it comes to its end all the same. It
// does not look at what the program has done: that is for a witness that does not trust it, such as the server that the
// program crawls, and for readers of what it leaves behind.
//
//	var crawling = killtest.NewProgram("crawling", func(site string) error { … })
//
//	func TestMain(m *testing.M) { killtest.Main(m) }
//
//	loop := &killtest.Loop{Seed: deep.Seed(), Log: t.Logf}
//	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
//		loop.Count() // kills here, before the answer, when it is time
//		…
//	}))
//	loop.Next = func(_ int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
//		return crawling.Command(site.URL), []killtest.Fault{{Count: 10 + random.IntN(50)}}
//	}
//	starts, err := loop.Run(t.Context())
//
// The [Program] is the binary of the tests, which crawls when it is started by its command. A Loop starts any other command as well.
//
// A [Fault] may be any signal, and come at a request, at a line of output, or after a time. For a program that is started
// once, or for several at a time, there is [Start]. The package can be used outside of tests, to kill programs that are not
// ours.
package killtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Loop starts a program until it has come to its end. Its methods may be called by several goroutines.
type Loop struct {
	// Next makes the command of the next start, the first of which is 0, and says what befalls it. Random numbers are those
	// of Seed.
	Next func(start int, random *rand.Rand) (*exec.Cmd, []Fault)

	// Judge says after each start whether there is another one. Its error ends the loop. A nil Judge is [Finished].
	Judge func(Exit) (again bool, err error)

	Seed   uint64
	Starts int           // the most that there are; 0 is 1,000
	Limit  time.Duration // for one start: one that takes longer is killed. 0: there is none

	// Log, if it is not nil, is told the seed, and how many starts there were.
	Log func(format string, args ...any)

	mu      sync.Mutex // guards process
	process *Process   // the one that runs or ran last; nil before the first
}

// UnfinishedError says that a program had not come to its end after as many starts as were allowed.
type UnfinishedError struct{ Last Exit }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("killtest: not finished in %d starts, the last of which wrote:\n%s", e.Last.Start+1, e.Last.Output)
}

// Finished is the Judge of a program that ends with the exit code 0 when all is done, and dies of SIGKILL alone.
func Finished(e Exit) (again bool, err error) {
	switch {
	case e.Hung:
		return false, fmt.Errorf("killtest: start %d: the program has not ended after %v:\n%s", e.Start, e.Took, e.Output)
	case e.Killed():
		return true, nil
	case e.Err != nil:
		return false, fmt.Errorf("killtest: start %d: %w\n%s", e.Start, e.Err, e.Output)
	}
	return false, nil
}

// Run starts the program until Judge wants no further start, ctx is done, or there were as many starts as are allowed. It
// returns how many there were.
func (l *Loop) Run(ctx context.Context) (starts int, err error) {
	log, judge, most := l.Log, l.Judge, l.Starts
	if log == nil {
		log = func(string, ...any) {}
	}
	if judge == nil {
		judge = Finished
	}
	if most == 0 {
		most = 1000
	}
	log("seed %d", l.Seed)
	defer func() { log("%d starts", starts) }()
	random := rand.New(rand.NewPCG(l.Seed, 1))
	for {
		exit, err := l.once(ctx, starts, random)
		if err != nil {
			return starts, err
		}
		starts++
		if again, err := judge(exit); !again || err != nil {
			return starts, err
		}
		if starts == most {
			return starts, &UnfinishedError{exit}
		}
	}
}

// once starts the program once.
func (l *Loop) once(ctx context.Context, start int, random *rand.Rand) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{}, context.Cause(ctx)
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if l.Limit > 0 {
		limited, cancel = context.WithTimeout(ctx, l.Limit)
	}
	defer cancel()
	cmd, faults := l.Next(start, random)
	l.mu.Lock() // Count and Signal wait until there is the process that they mean
	p, err := Start(cmd, faults...)
	if err != nil {
		l.mu.Unlock()
		return Exit{}, fmt.Errorf("killtest: start %d: %w", start, err)
	}
	l.process = p
	l.mu.Unlock()
	late := context.AfterFunc(limited, func() { p.Signal(syscall.SIGKILL) })
	exit := p.Wait()
	exit.Start, exit.Hung = start, !late() && exit.Killed()
	if ctx.Err() != nil {
		return exit, context.Cause(ctx)
	}
	return exit, nil
}

// Count is [Process.Count] of the program that runs.
func (l *Loop) Count() (moment bool) {
	if p := l.Process(); p != nil {
		return p.Count()
	}
	return false
}

// Signal is [Process.Signal] of the program that runs.
func (l *Loop) Signal(signal syscall.Signal) {
	if p := l.Process(); p != nil {
		p.Signal(signal)
	}
}

// Process returns the program that runs, or ran last; nil before the first. A delayed signal is sent to it, not to the Loop,
// whose next program is another one.
func (l *Loop) Process() *Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.process
}
