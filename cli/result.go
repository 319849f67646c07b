package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/outfile"
)

// result is what --result writes.
type result struct {
	path   string
	engine *tegenaria.SpiderEngine // nil until there is one
	rules  []string                // that were broken, or have ended the crawl
	before bool                    // the job was finished before, which is allowed
	run    *pastRun                // what is kept of the run; nil: it has not begun
	folder string                  // where that is kept
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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.content(err)); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	if err := outfile.Replace(r.path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	return nil
}

// keep adds the run to those that are kept.
func (r *result) keep(err error) error {
	if r.run == nil {
		return nil
	}
	content := r.content(err)
	r.run.Code, r.run.Reason, r.run.Error, r.run.Stats = content.Code, content.Reason, content.Error, r.engine.JobStats()
	r.run.Finished = content.Code == codeFinished && r.engine.Summary().Reason == "finished"
	return r.run.keep(r.folder)
}

// content is what is told of a crawl that has ended with an error, or without one.
func (r *result) content(err error) resultJSON {
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
	return content
}
