//go:build linux || darwin || freebsd || netbsd || dragonfly

package flightnotes

import "syscall"

// mapFile maps a part of a file, which it shares with every process that has it open; nil if that cannot be done.
func mapFile(fd uintptr, offset int64, length int) []byte {
	memory, err := syscall.Mmap(int(fd), offset, length, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return memory
}

// unmapFile ends a mapping. The file has what was written to it.
func unmapFile(memory []byte) { _ = syscall.Munmap(memory) }
