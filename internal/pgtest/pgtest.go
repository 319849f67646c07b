// Package pgtest runs a PostgreSQL server for tests: one of its own, in a temporary folder, on a socket there. A test that asks for it is
// skipped, with the reason, unless the folder of the server's programs is named on the command line:
//
//	go test ./feed/postgres -args -postgres /usr/lib/postgresql/15/bin
//
// The server is started by the first test of a package that asks, and stopped by [Main], or when the program of the
// tests ends in another way:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

var programs = flag.String("postgres", "", "folder that holds initdb and pg_ctl of PostgreSQL")

// Server is a PostgreSQL server.
type Server struct {
	folder  string    // of the data, the socket and the log
	remover *exec.Cmd // ends the server and removes the folder once its input ends
	alive   *os.File  // its input, which ends when this process does

	mu      sync.Mutex // guards the fields below
	running bool
}

// quick is the configuration of a server whose data nobody needs after a crash of the machine.
const quick = "fsync = off\n"

var (
	mu     sync.Mutex // guards shared
	shared *Server
)

// Main runs the tests of a package, and stops the server if one of them has started it.
func Main(m *testing.M) {
	m.Run() // whose result the testing package knows
	if shared != nil {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
		}
	}
}

// Get returns the server of this package's tests, which runs. It skips the test when no folder of programs was named.
func Get(t testing.TB) *Server {
	t.Helper()
	if *programs == "" {
		t.Skip("needs PostgreSQL: name the folder of its programs with -args -postgres DIR, or run make servers")
	}
	mu.Lock()
	defer mu.Unlock()
	if shared == nil {
		s, err := create(quick)
		if err != nil {
			t.Fatal(err)
		}
		shared = s
	}
	if err := shared.Start(); err != nil {
		t.Fatal(err)
	}
	return shared
}

// Open starts a server for a program that is no test, whose flag -postgres names the folder of programs. The caller closes it.
func Open() (*Server, error) {
	if *programs == "" {
		return nil, errors.New("needs PostgreSQL: name the folder of its programs with -postgres DIR")
	}
	s, err := create("")
	if err != nil {
		return nil, err
	}
	return s, s.Start()
}

// Close ends the server and removes its folder.
func (s *Server) Close() error { return errors.Join(s.Stop(), s.remove()) }

// Another returns one more server, which runs until the test ends.
func Another(t testing.TB) *Server {
	t.Helper()
	Get(t)
	s, err := create(quick)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// folder makes a folder for a server.
func folder() (*Server, error) {
	folder, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder}
	if os.Getuid() == 0 { // whom the server refuses to serve
		owner, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, err := strconv.Atoi(owner.Uid)
		if err != nil {
			return nil, err
		}
		if err := os.Chown(folder, uid, -1); err != nil {
			return nil, err
		}
	}
	return s, s.removeAtEnd()
}

// removeAtEnd starts a program that ends the server and removes its folder as soon as this process has ended, even if
// it was killed, or when remove is called.
func (s *Server) removeAtEnd() error {
	input, alive, err := os.Pipe()
	if err != nil {
		return err
	}
	defer input.Close()
	stop := s.command(context.Background(), "pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
	s.remover = exec.Command("sh", append([]string{"-c", `trap "" INT TERM HUP; read _; "$@"; rm -rf "$0"`, s.folder}, stop.Args...)...)
	s.remover.Stdin, s.alive = input, alive
	return s.remover.Start()
}

// remove ends the server if it runs, and removes its folder.
func (s *Server) remove() error { return errors.Join(s.alive.Close(), s.remover.Wait()) }

// create makes the folder of a server, and its data. conf is added to its configuration.
func create(conf string) (*Server, error) {
	s, err := folder()
	if err != nil {
		return nil, err
	}
	if err := s.run("initdb", "-D", s.data(), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	// In the file and not on the command line, so that a test can change it by ALTER SYSTEM.
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(conf)
	return s, errors.Join(err, file.Close())
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// command returns a command that runs a program of the server, as its owner.
func (s *Server) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	name := filepath.Join(*programs, program)
	if os.Getuid() == 0 {
		name, args = "runuser", append([]string{"-u", "postgres", "--", name}, args...)
	}
	return exec.CommandContext(ctx, name, args...)
}

// run runs a program of the server.
func (s *Server) run(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := s.command(ctx, program, args...)
	command.Dir = s.folder
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	command.WaitDelay = time.Second // the server holds what pg_ctl writes to
	if err := command.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		return fmt.Errorf("pgtest: %s: %w\n%s%s", program, err, out.Bytes(), log[max(0, len(log)-2000):])
	}
	return nil
}

// Start starts the server, unless it runs.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return nil
	}
	options := "-k " + s.folder + " -c listen_addresses='' -c max_connections=50 -c log_min_messages=fatal"
	if err := s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.folder, "log"), "-o", options, "-w", "-t", "60", "start"); err != nil {
		return err
	}
	s.running = true
	return nil
}

// Stop ends the server and all connections.
func (s *Server) Stop() error { return s.stop("fast") }

// Crash ends the server as a crash does: it recovers when it is started again.
func (s *Server) Crash() error { return s.stop("immediate") }

func (s *Server) stop(mode string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return nil
	}
	s.running = false
	return s.run("pg_ctl", "-D", s.data(), "-m", mode, "-w", "stop")
}

// StandBy starts a second server that follows this one, which from now on commits nothing that the second one has not
// stored. The second one takes its place by Promote, and is removed at the end of the test.
func (s *Server) StandBy(t testing.TB) (*Server, error) {
	second, err := folder()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := errors.Join(second.Crash(), second.remove()); err != nil {
			t.Error(err)
		}
	})
	if err := second.run("pg_basebackup", "-D", second.data(), "-h", s.folder, "-U", "tester", "-R", "-c", "fast"); err != nil {
		return nil, err
	}
	return second, second.Start()
}

// Promote has a server that follows another one take its place.
func (s *Server) Promote() error { return s.run("pg_ctl", "-D", s.data(), "-w", "promote") }

// Host is where the server listens.
func (s *Server) Host() string { return s.folder }

// DSN returns how to connect to a database of the server; "postgres" is always there.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("host=%s user=tester password=swordfish dbname=%s", s.folder, database)
}
