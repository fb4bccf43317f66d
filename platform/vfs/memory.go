package vfs

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory is an FS in memory that tracks what would survive a power cut. Content survives once its file was synced. Names
// survive once a directory was synced after they changed: as on a journaling filesystem, changes of names reach the
// device in their order, so that syncing one directory makes all earlier changes durable. The root "/" exists.
type Memory struct {
	now func() time.Time

	mu      sync.Mutex
	names   map[string]*node // by clean path, as programs see them
	durable map[string]*node // as a power cut would leave them
	journal []change         // changes since durable
	epoch   int              // power cuts so far
	size    int64            // room in bytes, 0 for no limit
	used    int64            // by content, in whole blocks
}

// node is a file or a directory.
type node struct {
	dir      bool   // a directory has no data
	data     []byte // as programs read it
	synced   []byte // as the last Sync left it
	modified time.Time
}

// change is one step of the tree: from now on name has node, or nothing.
type change struct {
	name string
	node *node
	with bool // belongs to the change before it: none of them is durable alone
}

// memoryBlock is the unit of allocation, and the unit that a power cut keeps or loses as a whole; in bytes.
const memoryBlock = 4096

// NewMemory makes an empty FS with room for size bytes of content, without a limit if 0. now may be nil.
func NewMemory(size int64, now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	// The root is durable from the start.
	root := &node{dir: true, modified: now()}
	return &Memory{
		now: now, size: size,
		names:   map[string]*node{"/": root},
		durable: map[string]*node{"/": root},
	}
}

// Crash cuts the power: all handles become unusable. It calls keep once for each page and each change of names that was
// not synced, and loses it if keep returns false. Of the changes of names, a prefix is kept. With a nil keep all of it is
// lost.
func (m *Memory) Crash(keep func() bool) {
	if keep == nil {
		keep = func() bool { return false }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	// Names: a prefix of the changes since the last sync.
	for len(m.journal) > 0 && keep() {
		m.commit(1)
	}
	m.journal = nil
	m.names = map[string]*node{}
	m.used = 0
	for _, name := range sortedNames(m.durable) { // in order: keep may be a seeded choice
		n := m.durable[name]
		m.names[name] = n
		if !n.dir {
			n.data = torn(n.synced, n.data, keep)
			n.synced = slices.Clone(n.data)
			m.used += room(len(n.data))
		}
	}
}

// torn returns old with some of the pages of now.
func torn(old, now []byte, keep func() bool) []byte {
	out := slices.Clone(old)
	// The size may become durable before or without the content: pages that were not written are zeros.
	if len(old) != len(now) && keep() {
		out = append(out[:min(len(out), len(now))], make([]byte, max(0, len(now)-len(out)))...)
	}
	for off := 0; off < min(len(out), len(now)); off += memoryBlock {
		end := min(off+memoryBlock, len(out), len(now))
		// A page that is the same in both needs no choice, and uses none of a seeded sequence.
		if off < len(old) && slices.Equal(old[off:min(end, len(old))], now[off:min(end, len(old))]) && end <= len(old) {
			continue
		}
		if keep() {
			copy(out[off:end], now[off:end])
		}
	}
	return out
}

// sortedNames returns the names in order: that of a map would differ from run to run.
func sortedNames(names map[string]*node) []string {
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Corrupt flips bits of the byte at off of a file, in memory and on the device.
func (m *Memory) Corrupt(name string, off int64, mask byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.file("corrupt", name)
	if err != nil {
		return err
	}
	if off < 0 || off >= int64(len(n.data)) {
		return pathError("corrupt", name, syscall.EINVAL)
	}
	n.data[off] ^= mask // the content that programs read; below that which a power cut leaves
	if off < int64(len(n.synced)) {
		n.synced[off] ^= mask
	}
	return nil
}

// Open opens a file.
func (m *Memory) Open(name string, flag int) (File, error) {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[name]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case n == nil:
		if err := m.parent("open", name); err != nil {
			return nil, err
		}
		n = &node{modified: m.now()}
		m.change(change{name: name, node: n})
	case n.dir:
		return nil, pathError("open", name, syscall.EISDIR)
	case flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, pathError("open", name, fs.ErrExist)
	}
	// The handle keeps its content also after the name is removed; a power cut invalidates it.
	f := &memoryFile{fs: m, node: n, name: name, epoch: m.epoch, writable: flag&os.O_RDWR != 0}
	if flag&os.O_TRUNC != 0 {
		m.used -= room(len(n.data))
		n.data = nil
	}
	return f, nil
}

// Stat describes a file or directory.
func (m *Memory) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[path.Clean(name)]
	if n == nil {
		return Info{}, pathError("stat", name, fs.ErrNotExist)
	}
	return Info{Size: int64(len(n.data)), Modified: n.modified, IsDir: n.dir}, nil
}

// Rename moves a file, or a directory with all below it. It replaces a file or an empty directory with the new name, in one
// change across a power cut.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rename(path.Clean(from), path.Clean(to))
}

// Move does the same as Rename, to a free name only.
func (m *Memory) Move(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[to] != nil && m.names[from] != nil {
		return pathError("rename", to, fs.ErrExist)
	}
	return m.rename(from, to)
}

// rename moves a file or a directory. The caller holds mu.
func (m *Memory) rename(from, to string) error {
	n, old := m.names[from], m.names[to]
	if n == nil {
		return pathError("rename", from, fs.ErrNotExist)
	}
	if err := m.parent("rename", to); err != nil {
		return err
	}
	switch {
	case from == to: // changes nothing, and is not an error
		return nil
	case n.dir && strings.HasPrefix(to, from+"/"):
		return pathError("rename", to, syscall.EINVAL)
	case old != nil && old.dir && !n.dir:
		return pathError("rename", to, syscall.EISDIR)
	case old != nil && !old.dir && n.dir:
		return pathError("rename", to, syscall.ENOTDIR)
	case old != nil && old.dir && len(m.list(to)) > 0:
		return pathError("rename", to, syscall.ENOTEMPTY)
	case old != nil:
		m.used -= room(len(old.data))
	}
	// Steps that become durable together: a rename is atomic across a power cut.
	with := false
	for _, name := range sortedNames(m.names) {
		below, under := strings.CutPrefix(name, from+"/")
		switch {
		case name == from:
			m.change(change{name: to, node: n, with: with})
		case under:
			m.change(change{name: to + "/" + below, node: m.names[name], with: with})
		default:
			continue
		}
		m.change(change{name: name, with: true})
		with = true
	}
	return nil
}

// Remove removes a file or an empty directory.
func (m *Memory) Remove(name string) error {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[name]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	// Handles that have the file open keep its content.
	if n.dir && len(m.list(name)) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.used -= room(len(n.data))
	m.change(change{name: name})
	return nil
}

// Mkdir makes a directory.
func (m *Memory) Mkdir(name string) error {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[name] != nil {
		return pathError("mkdir", name, fs.ErrExist)
	}
	if err := m.parent("mkdir", name); err != nil {
		return err
	}
	m.change(change{name: name, node: &node{dir: true, modified: m.now()}})
	return nil
}

// ReadDir lists the sorted names of a directory.
func (m *Memory) ReadDir(name string) ([]string, error) {
	name = path.Clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.directory("readdir", name); err != nil {
		return nil, err
	}
	return m.list(name), nil
}

// SyncDir makes all changes of names so far durable.
func (m *Memory) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.directory("syncdir", path.Clean(name)); err != nil {
		return err
	}
	m.commit(len(m.journal)) // of all directories: there is one journal
	return nil
}

// Space returns the room.
func (m *Memory) Space(name string) (Space, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names[path.Clean(name)] == nil {
		return Space{}, pathError("space", name, fs.ErrNotExist)
	}
	if m.size == 0 { // no limit: a petabyte
		return Space{Total: 1 << 50, Free: 1<<50 - m.used}, nil
	}
	return Space{Total: m.size, Free: m.size - m.used}, nil
}

// change applies a change to the current tree. It is visible at once, and in the journal until a SyncDir or a power cut.
// This and the following functions are called with mu held.
func (m *Memory) change(c change) {
	apply(m.names, c)
	m.journal = append(m.journal, c)
}

// commit makes the first n changes durable, and the rest of a rename.
func (m *Memory) commit(n int) {
	for n < len(m.journal) && m.journal[n].with { // the rest of a rename
		n++
	}
	for _, c := range m.journal[:n] {
		apply(m.durable, c)
	}
	m.journal = m.journal[n:]
}

// apply makes one change.
func apply(names map[string]*node, c change) {
	if c.node == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.node
	}
}

// list returns the sorted names in a directory. It looks at all names, which is fast enough for tests.
func (m *Memory) list(dir string) []string {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	names := []string{}
	for name := range m.names {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

// file returns a file, or an error if the name is not that of a file.
func (m *Memory) file(op, name string) (*node, error) {
	n := m.names[path.Clean(name)]
	if n == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	if n.dir {
		return nil, pathError(op, name, syscall.EISDIR)
	}
	return n, nil
}

// parent fails unless the parent directory of a name exists.
func (m *Memory) parent(op, name string) error { return m.directory(op, path.Dir(name)) }

// directory fails unless the name is a directory.
func (m *Memory) directory(op, name string) error {
	n := m.names[name]
	if n == nil {
		return pathError(op, name, fs.ErrNotExist)
	}
	if !n.dir {
		return pathError(op, name, syscall.ENOTDIR)
	}
	return nil
}

// room returns the bytes that content of this length occupies on the device.
func room(n int) int64 { return int64(n+memoryBlock-1) / memoryBlock * memoryBlock }

// pathError returns an error in the form of the operating system.
func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }
