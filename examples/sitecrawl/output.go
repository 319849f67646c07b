package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tegenaria/tegenaria"
)

// output writes the pages as lines of JSON. It is a pipeline and a tegenaria.Committer: it keeps the line of
// a page until the engine has settled the request, so that there is exactly one line for each URL that was
// fetched, however often it was tried and whenever the crawl was stopped. Lines are written whole, in
// batches, by one goroutine at a time.
type output struct {
	name   string // of the file, "-" for stdout
	stdout io.Writer
	w      io.Writer
	file   *os.File // nil for stdout

	mu     sync.Mutex // guards staged
	staged map[string][]byte
}

var (
	_ tegenaria.PipelinesInterface = (*output)(nil)
	_ tegenaria.Committer          = (*output)(nil)
	_ tegenaria.Opener             = (*output)(nil)
	_ tegenaria.Closer             = (*output)(nil)
)

func newOutput(name string, stdout io.Writer) *output {
	return &output{name: name, stdout: stdout, staged: make(map[string][]byte)}
}

// Open creates or truncates the file. It is called after all mistakes in the options were found.
func (o *output) Open(context.Context, tegenaria.SpiderInterface) (err error) {
	if o.name == "-" {
		o.w = o.stdout
		return nil
	}
	o.file, err = os.Create(o.name)
	o.w = o.file
	return err
}

// GetPriority is part of tegenaria.PipelinesInterface.
func (o *output) GetPriority() int { return 0 }

// ProcessItem makes the line of a page.
func (o *output) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(item.Item); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.staged[item.CtxId] = line.Bytes()
	return nil
}

// CommitKey is part of tegenaria.Committer.
func (o *output) CommitKey() string { return "sitecrawl" }

// Restore does nothing: each crawl starts with an empty file.
func (o *output) Restore(context.Context, []byte) error { return nil }

// Prepare writes the lines of settled requests. Its error ends the crawl as failed.
func (o *output) Prepare(_ context.Context, ids []string) ([]byte, error) {
	var lines []byte
	o.mu.Lock()
	for _, id := range ids {
		lines = append(lines, o.staged[id]...)
		delete(o.staged, id)
	}
	o.mu.Unlock()
	if len(lines) == 0 {
		return nil, nil
	}
	if _, err := o.w.Write(lines); err != nil {
		return nil, fmt.Errorf("writing the output: %w", err)
	}
	return nil, nil
}

// Discard forgets the line of a request that will run again.
func (o *output) Discard(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.staged, id)
}

// Close closes the file.
func (o *output) Close(context.Context, string) error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
