package shell

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mostHistory is how many lines a history keeps.
const mostHistory = 1000

// history are the lines of this session and those before, the oldest first. A file that cannot be read or written is no error: then the
// lines are those of this session.
type history struct {
	path  string
	lines []string
}

// openHistory reads a history, and shortens its file if that has become long.
func openHistory(path string) *history {
	h := &history{path: path}
	text, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	h.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if extra := len(h.lines) - mostHistory; extra > 0 {
		h.lines = slices.Clone(h.lines[extra:])
		_ = os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// secretParameter finds a parameter of a URL whose name says that it is a secret: ?token=, &api_key=, #access_token=.
var secretParameter = regexp.MustCompile(`(?i)[?&;#]([^=&;#]*(token|secret|passw|pwd|auth|credential|session|signature|jwt)[^=&;#]*|([^=&;#]*[-_.])?(key|sig|sid|code)|apikey)=`)

// mayHoldSecret reports whether a line may hold a password: one with a login in a URL, or with such a parameter.
func mayHoldSecret(line string) bool {
	isURL := strings.Contains(line, "://") || strings.HasPrefix(line, "fetch ")
	return isURL && strings.Contains(line, "@") || secretParameter.MatchString(line)
}

// Write adds a line, unless it may hold a password.
func (h *history) Write(line string) (int, error) {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line, "\r\n") || mayHoldSecret(line) {
		return len(h.lines), nil
	}
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return n, nil
	}
	h.lines = append(h.lines, line)
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return len(h.lines), nil
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = file.WriteString(line + "\n")
		_ = file.Close()
	}
	return len(h.lines), nil
}

// GetLine returns a line.
func (h *history) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.lines) {
		return "", errors.New("there is no such line")
	}
	return h.lines[i], nil
}

// Len returns the number of lines.
func (h *history) Len() int { return len(h.lines) }

// Dump returns all lines.
func (h *history) Dump() any { return h.lines }
