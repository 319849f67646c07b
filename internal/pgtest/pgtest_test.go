package pgtest_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/pgtest"
)

var victim = flag.Bool("victim", false, "run a server until the process is killed: what TestKilledProgram kills")

func TestMain(m *testing.M) { pgtest.Main(m) }

// It is no test: TestKilledProgram starts it as a program of its own, and kills it.
func TestVictim(t *testing.T) {
	if !*victim {
		return
	}
	fmt.Println(pgtest.Get(t).Host())
	<-t.Context().Done()
}

// It fails if a program that is killed leaves its server or the folder of the server behind.
func TestKilledProgram(t *testing.T) {
	pgtest.Get(t) // skips the test where there is no PostgreSQL
	child := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-victim", "-postgres="+flag.Lookup("postgres").Value.String())
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	folder := strings.TrimSpace(line)
	if err != nil || !filepath.IsAbs(folder) {
		t.Errorf("the program says %q, %v; want the folder of a server", line, err)
	}
	connection, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	if err != nil {
		t.Error(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if t.Failed() {
		return
	}
	defer connection.Close()
	// A server closes its connections when it ends. One that runs would wait for a minute for somebody to log in.
	if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(connection); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the server goes on: %q, %v", content, err)
	}
	deadline, pause := time.Now().Add(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer pause.Stop()
	for ; ; <-pause.C {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the folder %s is left", folder)
		}
	}
}
