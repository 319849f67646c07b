package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Part is a committer: see the interface of the same methods in the engine's package.
type Part interface {
	CommitKey() string
	Restore(ctx context.Context, checkpoint []byte) error
	Prepare(ctx context.Context, ids []string) (checkpoint []byte, err error)
	Discard(id string)
}

// Parts are the committers of a run.
type Parts []Part

// Mistakes refuses committers that cannot be told apart, or that take a key of the engine's own.
func (ps Parts) Mistakes(own ...string) error {
	seen := make(map[string]bool)
	var errs []error
	for _, p := range ps {
		key := p.CommitKey()
		switch {
		case key == "" || slices.Contains(own, key):
			errs = append(errs, fmt.Errorf("%T: its CommitKey is %q, which names no place that it keeps its results in", p, key))
		case seen[key]:
			errs = append(errs, sharedPlace(key))
		}
		seen[key] = true
	}
	return errors.Join(errs...)
}

// sharedPlace is the mistake of two committers that have one key; that of a feed is the path of its file.
func sharedPlace(key string) error {
	if path, ok := strings.CutPrefix(key, "feed:"); ok && path != "writer" && path != "-" {
		return fmt.Errorf("two feeds write to %s: give each a file of its own", path)
	}
	return fmt.Errorf("two pipelines have the CommitKey %q: give each its own", key)
}

// Restore gives the committers their checkpoints, each by a call of opening, whose error it returns. One that has none prepares a
// first one: those must be stored before anything is staged.
func (ps Parts) Restore(ctx context.Context, stored map[string][]byte, opening func(part any, code func() error) error) (first map[string][]byte, err error) {
	first = make(map[string][]byte)
	for _, p := range ps {
		key := p.CommitKey()
		checkpoint, known := stored[key]
		if !known {
			checkpoint = nil
		}
		var prepared []byte // belongs to the committer until it has returned
		err := opening(p, func() (err error) {
			if err := p.Restore(ctx, checkpoint); err != nil || known {
				return err
			}
			prepared, err = p.Prepare(ctx, nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		if !known {
			first[key] = prepared
		}
	}
	return first, nil
}

// Discard has every committer forget what these ids staged.
func (ps Parts) Discard(ids []string) error {
	for _, id := range ids {
		for _, p := range ps {
			if err := guard.Protect(func() error { p.Discard(id); return nil }); err != nil {
				return fmt.Errorf("the pipeline %T: %w", p, err)
			}
		}
	}
	return nil
}

// Prepare has every committer make durable what these ids staged, all at the same time, so that a slow one does not add to the others.
// It returns when all have returned: the checkpoints by key, or the errors of all. begin, unless nil, is called when the i-th one
// begins, and the func that it returns when that ends.
func (ps Parts) Prepare(ctx context.Context, ids []string, begin func(i int) (end func(error))) (map[string][]byte, error) {
	made, errs := make([][]byte, len(ps)), make([]error, len(ps))
	prepare := func(i int) {
		errs[i] = fmt.Errorf("the pipeline %T: Prepare ended its goroutine", ps[i])
		end := func(error) {}
		if begin != nil {
			end = begin(i)
		}
		err := guard.Protect(func() (err error) {
			made[i], err = ps[i].Prepare(ctx, slices.Clip(ids))
			return err
		})
		end(err)
		if errs[i] = err; err != nil {
			errs[i] = fmt.Errorf("the pipeline %T: %w", ps[i], err)
		}
	}
	var others sync.WaitGroup
	for i := 1; i < len(ps); i++ {
		others.Go(func() { prepare(i) })
	}
	if len(ps) > 0 {
		prepare(0)
	}
	others.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	checkpoints := make(map[string][]byte, len(ps))
	for i, p := range ps {
		checkpoints[p.CommitKey()] = made[i]
	}
	return checkpoints, nil
}
