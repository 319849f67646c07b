package disk

import (
	"context"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WithFS keeps a job in another file system.
func WithFS(fs vfs.FS) Option { return func(o *options) { o.fs = fs } }

// MaxSettled is how many requests a commit waits for at most.
const MaxSettled = maxSettled

// WithMemTable sets how much the store gathers before it writes a table.
func WithMemTable(bytes int) Option { return func(o *options) { o.memTable = uint64(bytes) } }

// VerifyFS reads all of a job in another file system, as Repair does first.
func VerifyFS(ctx context.Context, dir string, fs vfs.FS) error { return verify(ctx, fs, dir) }

// RepairFS is Repair in another file system.
func RepairFS(ctx context.Context, dir string, fs vfs.FS) (Report, error) {
	return repair(ctx, dir, fs)
}
