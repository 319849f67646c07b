package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// result is what --result writes.
type result struct {
	path   string
	engine *tegenaria.SpiderEngine // nil until there is one
	rules  []string                // that were broken, or have ended the crawl
	before bool                    // the job was finished before, which is allowed
}

// resultJSON is its form.
type resultJSON struct {
	Code    int                `json:"code"`   // the exit code
	Reason  string             `json:"reason"` // "finished", "limit: pages", "interrupted", "failed", "usage", "rules", "finished before"
	Error   string             `json:"error,omitempty"`
	Rules   []string           `json:"rules,omitempty"`
	Summary *tegenaria.Summary `json:"summary,omitempty"`
}

// begin finds out whether the file can be written, and removes an older one, which describes another crawl.
func (r *result) begin() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(r.path), ".result-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write writes the file, if there is to be one: a whole one, or none.
func (r *result) write(err error) error {
	if r.path == "" {
		return nil
	}
	content := resultJSON{Code: codeOf(err), Rules: r.rules, Reason: "finished"}
	if err != nil {
		content.Error = err.Error()
	}
	if r.engine != nil {
		summary := r.engine.Summary()
		content.Summary = &summary
		content.Reason = summary.Reason
	}
	var interrupted *tegenaria.InterruptedError
	switch {
	case content.Code == codeFailed:
		content.Reason = "failed"
	case content.Code == codeUsage:
		content.Reason = "usage"
	case content.Code == codeBroken:
		content.Reason = "rules"
	case content.Code == codeBefore || r.before:
		content.Reason = "finished before"
	case errors.As(err, &interrupted):
		content.Reason = "interrupted"
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	if err := outfile.Replace(r.path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	return nil
}

// history is what is kept of the last run of a spider, for rules that ask for it.
type history struct {
	path string // "" if no rule asks
	last tegenaria.Stats
}

// history reads what is kept of a crawl, if a rule asks for it: in .tegenaria beside the settings file, or else in the working directory.
func (c *call) history(crawl string, rules []*rule) (*history, error) {
	h := &history{}
	if !slices.ContainsFunc(rules, func(r *rule) bool { return r.last }) {
		return h, nil
	}
	dir := "."
	file, err := readSettings(c.config)
	if err != nil {
		return nil, err
	}
	if file.path != "" {
		dir = filepath.Dir(file.path)
	}
	h.path = filepath.Join(dir, ".tegenaria", "last", fileName(crawl)+".json")
	text, err := os.ReadFile(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &h.last)
	}
	if err != nil {
		return nil, fmt.Errorf("the counts of the last run, in %s: %w; remove the file to begin anew", h.path, err)
	}
	return h, nil
}

// keep keeps the counts of a run that has finished and that no rule finds fault with.
func (h *history) keep(s tegenaria.Stats) error {
	if h.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o755); err != nil {
		return err
	}
	return outfile.Replace(h.path, append(text, '\n'), 0o644)
}

// mostFileName bounds a name of a file, in bytes: with an ending it is one that every file system takes.
const mostFileName = 200

// fileName makes a name of a spider one of a file: letters, digits, - and _ stay, others are written as numbers. One that is too long ends with
// a hash.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range []byte(name) {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteByte(r)
		} else {
			fmt.Fprintf(&b, "%%%02x", r)
		}
	}
	if b.Len() > mostFileName {
		hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))
		return b.String()[:mostFileName-len(hash)] + hash
	}
	return b.String()
}
