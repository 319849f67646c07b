package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tegenaria/tegenaria/bench/crash/powercut"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// systemFaults are those that take Linux, and root.
func systemFaults() []fault {
	return []fault{
		{"full", "from a random request on, the disk is full until the program has ended", false, struck, comes, fullDisk},
		{"power", "the power is cut at a random request: what was not synced is lost or kept, file by file", true, struck, atRequest(syscall.SIGKILL), powerCut},
		{"memory", "from a random request on, the program gets no more memory than it has", false, struck, comes, memoryLimit},
	}
}

// fullDisk gives the program a disk of 64 MiB, which another file fills.
func fullDisk(s *scene) (*trouble, error) {
	if err := syscall.Mount("tegenaria", s.folder, "tmpfs", 0, "size=64m"); err != nil {
		return nil, fmt.Errorf("mounting a tmpfs: %w", err)
	}
	filler := filepath.Join(s.folder, "filler")
	return &trouble{
		come: func() error {
			file, err := os.Create(filler)
			if err != nil {
				return err
			}
			if _, err = io.CopyBuffer(struct{ io.Writer }{file}, zeros{}, make([]byte, 4096)); errors.Is(err, syscall.ENOSPC) {
				err = nil
			}
			return errors.Join(err, file.Close())
		},
		ended: func() error {
			if err := os.Remove(filler); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		},
		close: func() error { return syscall.Unmount(s.folder, syscall.MNT_DETACH) },
	}, nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// powerCut gives the program a disk that forgets.
func powerCut(s *scene) (*trouble, error) {
	disk, err := powercut.Mount(s.folder)
	if err != nil {
		return nil, fmt.Errorf("mounting a FUSE file system: %w", err)
	}
	return &trouble{ended: func() error { return disk.Cut(s.random) }, close: disk.Close}, nil
}

// memoryLimit has the program run in a control group, whose limit becomes what it uses already.
func memoryLimit(*scene) (*trouble, error) {
	group, err := killtest.NewMemoryGroup(0)
	if err != nil {
		return nil, fmt.Errorf("making a control group: %w", err)
	}
	return &trouble{
		command: group.Command,
		come: func() error {
			used, err := group.Usage()
			for range 100 { // a group of version 1 is not limited to less than it has at the moment
				if err != nil {
					return err
				}
				if err = group.Limit(used); !errors.Is(err, syscall.EBUSY) {
					return err
				}
				used, err = group.Usage()
			}
			return err
		},
		ended: func() error { return group.Limit(0) },
		close: group.Close,
	}, nil
}
