//go:build !(linux || darwin || freebsd || netbsd || dragonfly)

package flightnotes

// mapFile maps nothing here: notes are written to the file.
func mapFile(uintptr, int64, int) []byte { return nil }

func unmapFile([]byte) {}
