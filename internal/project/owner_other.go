//go:build !unix

package project

import "io/fs"

// isForeign reports whether a file belongs to another user, which is not known here.
func isForeign(fs.FileInfo) bool { return false }
