//go:build linux

// Package powercut is a file system in memory that can lose its power: what was not synced is lost, or kept, file by file and folder
// by folder, at random, as a disk and its caches may do it.
//
// A file is synced by fsync, and its name with it, as ext4, XFS and Btrfs do it; a rename and a removal by an fsync of their folder.
package powercut

import (
	"context"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/tegenaria/tegenaria/internal/killtest"
)

// Disk is a mounted file system.
type Disk struct {
	folder string
	server *fuse.Server

	mu   sync.Mutex // guards all nodes
	root *node
}

// node is a file, if it has no names, or a folder.
type node struct {
	fs.Inode
	disk *Disk
	in   *node // a folder that it is in
	mode uint32
	time time.Time

	data, syncedData   []byte
	names, syncedNames map[string]*node // of a folder
}

var (
	_ fs.NodeOnAdder   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeLinker    = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// Mount mounts an empty disk, which takes root and /dev/fuse.
func Mount(folder string) (*Disk, error) {
	d := &Disk{folder: folder}
	d.root = d.node(syscall.S_IFDIR | 0o755)
	return d, d.mount()
}

func (d *Disk) mount() (err error) {
	d.server, err = fs.Mount(d.folder, d.root, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, FsName: "powercut", Name: "powercut", MaxWrite: 1 << 20,
		Logger: log.New(io.Discard, "", 0)}}) // it tells of each end
	return err
}

// Close ends the disk. Nothing may have a file of it open.
func (d *Disk) Close() error { return d.unmount() }

func (d *Disk) unmount() error { return killtest.WhileBusy(d.server.Unmount) }

// Cut cuts the power, and brings it back. Nothing may have a file of the disk open: the program that wrote has been killed before.
func (d *Disk) Cut(random *rand.Rand) error {
	if err := d.unmount(); err != nil {
		return err
	}
	d.root = d.root.after(random, make(map[*node]*node))
	return d.mount()
}

// after is a node as it is found after the power was cut.
func (n *node) after(random *rand.Rand, done map[*node]*node) *node {
	if is := done[n]; is != nil { // it has several names
		return is
	}
	is := n.disk.node(n.mode)
	done[n] = is
	names, data := n.syncedNames, n.syncedData
	if random.IntN(2) == 0 {
		names, data = n.names, n.data
	}
	is.time, is.data, is.syncedData = n.time, slices.Clone(data), slices.Clone(data)
	for _, name := range slices.Sorted(maps.Keys(names)) { // so that a seed tells all
		child := names[name].after(random, done)
		child.in = is
		is.names[name], is.syncedNames[name] = child, child
	}
	return is
}

// node makes a node that has not been synced.
func (d *Disk) node(mode uint32) *node {
	n := &node{disk: d, mode: mode, time: time.Now()}
	if mode&syscall.S_IFDIR != 0 {
		n.names, n.syncedNames = make(map[string]*node), make(map[string]*node)
	}
	return n
}

// OnAdd is part of fs.NodeOnAdder: it adds what the folder has when it is mounted.
func (n *node) OnAdd(ctx context.Context) {
	for name, child := range n.names {
		n.AddChild(name, n.inode(ctx, child), false)
	}
}

// inode is that of a node, which may have one already.
func (n *node) inode(ctx context.Context, child *node) *fs.Inode {
	if child.Inode.StableAttr().Ino != 0 {
		return child.EmbeddedInode()
	}
	return n.NewPersistentInode(ctx, child, fs.StableAttr{Mode: child.mode & syscall.S_IFMT})
}

// lock locks the disk until the func that it returns is called.
func (n *node) lock() func() {
	n.disk.mu.Lock()
	return n.disk.mu.Unlock
}

// attr tells what the node is like. It is called with the lock held.
func (n *node) attr(out *fuse.Attr) {
	out.Mode, out.Size, out.Nlink = n.mode, uint64(len(n.data)), 1
	out.Blocks = (out.Size + 511) / 512
	out.SetTimes(&n.time, &n.time, &n.time)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	defer n.lock()()
	n.attr(&out.Attr)
	return fs.OK
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	defer n.lock()()
	if size, ok := in.GetSize(); ok {
		n.resize(int(size))
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&syscall.S_IFMT | mode&0o7777
	}
	if t, ok := in.GetMTime(); ok {
		n.time = t
	}
	n.attr(&out.Attr)
	return fs.OK
}

// resize is called with the lock held.
func (n *node) resize(size int) {
	if size > len(n.data) {
		n.data = append(n.data, make([]byte, size-len(n.data))...)
	}
	n.data = n.data[:size]
}

func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, fs.OK
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, to []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	defer n.lock()()
	if at > int64(len(n.data)) {
		return fuse.ReadResultData(nil), fs.OK
	}
	return fuse.ReadResultData(to[:copy(to, n.data[at:])]), fs.OK
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	defer n.lock()()
	if end := int(at) + len(data); end > len(n.data) {
		n.resize(end)
	}
	n.time = time.Now()
	return uint32(copy(n.data[at:], data)), fs.OK
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	defer n.lock()()
	n.syncedData = slices.Clone(n.data)
	n.syncedNames = maps.Clone(n.names)
	for child := n; child.in != nil; child = child.in { // a new file, and its folders, have their names
		for name, is := range child.in.names {
			if is == child {
				child.in.syncedNames[name] = child
			}
		}
	}
	return fs.OK
}

func (n *node) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, errno := n.add(ctx, name, syscall.S_IFREG|mode&0o7777, out)
	return inode, nil, fuse.FOPEN_KEEP_CACHE, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, syscall.S_IFDIR|mode&0o7777, out)
}

// add adds a new file or folder.
func (n *node) add(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	defer n.lock()()
	child := n.disk.node(mode)
	child.in = n
	n.names[name] = child
	child.attr(&out.Attr)
	return n.inode(ctx, child), fs.OK
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	defer n.lock()()
	delete(n.names, name)
	return fs.OK
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	if child := n.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return n.Unlink(ctx, name)
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	defer n.lock()()
	folder, child := to.(*node), n.names[name]
	old := folder.names[newName]
	const noReplace = 1 // RENAME_NOREPLACE
	switch {
	case flags&^noReplace != 0:
		return syscall.EINVAL
	case old != nil && flags == noReplace:
		return syscall.EEXIST
	case old != nil && len(old.names) > 0:
		return syscall.ENOTEMPTY
	}
	delete(n.names, name)
	folder.names[newName], child.in = child, folder
	return fs.OK
}

func (n *node) Link(_ context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	defer n.lock()()
	child := target.(*node)
	n.names[name] = child
	child.attr(&out.Attr)
	return child.EmbeddedInode(), fs.OK
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 1 << 20
	out.Bsize, out.Frsize, out.Blocks, out.Bfree, out.Bavail, out.NameLen = 4096, 4096, blocks, blocks, blocks, 255
	return fs.OK
}
