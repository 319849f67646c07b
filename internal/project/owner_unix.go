//go:build unix

package project

import (
	"io/fs"
	"os"
	"syscall"
)

// isForeign reports whether a file belongs to another user.
func isForeign(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}
