//go:build unix

package curl_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/internal/curl"
)

// A named pipe that nobody writes to is an error. It fails if the command line waits for it.
func TestNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"-d @", "--json @", "--data-urlencode @", "-H @", "-F a=@", "-F 'a=<"} {
		line := "curl https://h/ " + option + pipe
		if strings.Contains(option, "'") {
			line += "'"
		}
		if c, err := curl.Parse(line, curl.OpenFile); err == nil || !strings.Contains(err.Error(), "it is a named pipe; name a file") {
			t.Errorf("%s: %v, %v", option, c, err)
		}
	}
}
