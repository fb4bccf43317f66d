package vfs

import (
	"errors"
	"path"
	"slices"
	"sync"
	"syscall"
)

// Op names the calls for which a fault can be injected.
type Op string

// The calls.
const (
	OpOpen     Op = "open"
	OpStat     Op = "stat"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpReadDir  Op = "readdir"
	OpSyncDir  Op = "syncdir"
	OpSpace    Op = "space"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSize     Op = "size"
	OpSync     Op = "sync"
	OpClone    Op = "clone"
)

// Changes returns the calls that change or sync something: the points at which a power cut makes a difference.
func Changes() []Op {
	return []Op{OpOpen, OpRename, OpRemove, OpMkdir, OpSyncDir, OpWrite, OpTruncate, OpSync, OpClone}
}

// Fault is one rule. It applies to calls of the ops (any if empty) on names that match the pattern of path.Match with the
// whole name or its last element (any if empty): it skips the first Skip of them and applies to the next Count, or to all
// if Count is 0. It has one effect:
type Fault struct {
	Ops     []Op
	Pattern string
	Skip    int // number of matching calls that pass first
	Count   int // number of calls to which it applies then

	// Wait makes the call block until the channel is closed; then the rest of the rule applies.
	Wait <-chan struct{}
	// Err fails the call without an effect.
	Err error
	// Short makes a write store half of the bytes and fail with Err, or ENOSPC if that is nil.
	Short bool
	// Flip flips one bit in the middle of the bytes that a read returns or a write stores.
	Flip bool
	// Lie makes Sync and SyncDir succeed without an effect.
	Lie bool
	// Space replaces the result of OpSpace.
	Space *Space
}

// Faulty is an FS that injects faults into calls to another one, by rules, in a repeatable way.
type Faulty struct {
	FS

	mu     sync.Mutex
	faults []*Fault   // in the order of injection; the first that matches applies
	calls  map[Op]int // so far, including failed ones
}

// NewFaulty wraps an FS. Without faults it changes nothing.
func NewFaulty(inner FS) *Faulty { return &Faulty{FS: inner, calls: map[Op]int{}} }

// Inject adds a rule; earlier rules take precedence.
func (f *Faulty) Inject(rule Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &rule)
}

// Heal removes all rules.
func (f *Faulty) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Calls counts the calls of the ops so far.
func (f *Faulty) Calls(ops ...Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, op := range ops {
		n += f.calls[op]
	}
	return n
}

// next counts a call and returns the rule that applies to it, if any, once the call may continue.
func (f *Faulty) next(op Op, name string) (Fault, bool) {
	rule, ok := f.rule(op, name)
	// Without the lock, so that other calls continue.
	if rule.Wait != nil {
		<-rule.Wait
	}
	return rule, ok
}

// rule counts a call and finds its rule, without waiting.
func (f *Faulty) rule(op Op, name string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	for i, r := range f.faults {
		if !r.matches(op, name) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		rule := *r // a copy: the one in the list counts down
		if r.Count == 1 {
			f.faults = slices.Delete(f.faults, i, i+1)
		}
		r.Count--
		return rule, true
	}
	return Fault{}, false
}

// matches reports whether the rule matches the call.
func (r *Fault) matches(op Op, name string) bool {
	if len(r.Ops) > 0 && !slices.Contains(r.Ops, op) {
		return false
	}
	if r.Pattern == "" {
		return true
	}
	// A malformed pattern matches nothing.
	whole, _ := path.Match(r.Pattern, name)
	last, _ := path.Match(r.Pattern, path.Base(name))
	return whole || last
}

// err returns the injected error of a call, if any.
func (f *Faulty) err(op Op, name string) error {
	// A rule without an error may have made the call wait; then the call is made.
	if r, ok := f.next(op, name); ok && r.Err != nil {
		return pathError(string(op), name, r.Err)
	}
	return nil
}

// Open opens a file whose calls can be faulty.
func (f *Faulty) Open(name string, flag int) (File, error) {
	if err := f.err(OpOpen, name); err != nil {
		return nil, err
	}
	inner, err := f.FS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: inner, fs: f, name: name}, nil
}

// Stat describes a file.
func (f *Faulty) Stat(name string) (Info, error) {
	if err := f.err(OpStat, name); err != nil {
		return Info{}, err
	}
	return f.FS.Stat(name)
}

// Rename moves a file; its pattern is matched against the new name.
func (f *Faulty) Rename(from, to string) error {
	if err := f.err(OpRename, to); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// Move moves a file to a free name; for rules it is a rename.
func (f *Faulty) Move(from, to string) error {
	if err := f.err(OpRename, to); err != nil {
		return err
	}
	return Move(f.FS, from, to)
}

// Remove removes a file or directory.
func (f *Faulty) Remove(name string) error {
	if err := f.err(OpRemove, name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// Mkdir makes a directory.
func (f *Faulty) Mkdir(name string) error {
	if err := f.err(OpMkdir, name); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

// ReadDir lists a directory.
func (f *Faulty) ReadDir(name string) ([]string, error) {
	if err := f.err(OpReadDir, name); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(name)
}

// SyncDir makes names durable, or only claims to.
func (f *Faulty) SyncDir(name string) error {
	r, ok := f.next(OpSyncDir, name)
	switch {
	case ok && r.Err != nil:
		return pathError("syncdir", name, r.Err)
	case ok && r.Lie: // like a device that acknowledges writes in its cache
		return nil
	}
	return f.FS.SyncDir(name)
}

// Space describes the filesystem, or returns the Space of a rule.
func (f *Faulty) Space(name string) (Space, error) {
	r, ok := f.next(OpSpace, name)
	switch {
	case ok && r.Err != nil:
		return Space{}, pathError("space", name, r.Err)
	case ok && r.Space != nil:
		return *r.Space, nil
	}
	return f.FS.Space(name)
}

// faultyFile is a file of a Faulty. It takes no hints and is not a file of the operating system.
type faultyFile struct {
	File
	fs   *Faulty
	name string
}

// ReadAt reads, with a flipped bit if a rule demands it.
func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	r, ok := f.fs.next(OpRead, f.name)
	if ok && r.Err != nil {
		return 0, pathError("read", f.name, r.Err)
	}
	n, err := f.File.ReadAt(p, off)
	if ok && r.Flip && n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

// WriteAt writes all bytes, or half of them, or with a flipped bit. It does not change the caller's bytes.
func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	r, ok := f.fs.next(OpWrite, f.name)
	switch {
	case ok && r.Short:
		n, err := f.File.WriteAt(p[:len(p)/2], off)
		if err == nil {
			err = pathError("write", f.name, syscall.ENOSPC)
		}
		if r.Err != nil {
			err = pathError("write", f.name, r.Err)
		}
		return n, err
	case ok && r.Err != nil:
		return 0, pathError("write", f.name, r.Err)
	case ok && r.Flip && len(p) > 0:
		p = slices.Clone(p) // the caller's bytes must not change
		p[len(p)/2] ^= 1
	}
	return f.File.WriteAt(p, off)
}

// NextData reads nothing, so rules do not apply. Without holes all is data.
func (f *faultyFile) NextData(off int64) (int64, error) {
	if s, ok := f.File.(Sparse); ok {
		return s.NextData(off)
	}
	return off, nil
}

// Allocated returns the allocated bytes; rules do not apply.
func (f *faultyFile) Allocated() (int64, error) {
	if s, ok := f.File.(Sparse); ok {
		return s.Allocated()
	}
	return f.File.Size()
}

// Clone copies the content of another file of the Faulty. Rules match the name of the file that changes.
func (f *faultyFile) Clone(from File) error {
	c, ok := f.File.(Cloner)
	other, same := from.(*faultyFile)
	if !ok || !same {
		return errors.ErrUnsupported
	}
	if err := f.fs.err(OpClone, f.name); err != nil {
		return err
	}
	return c.Clone(other.File)
}

// Truncate sets the size.
func (f *faultyFile) Truncate(size int64) error {
	if err := f.fs.err(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Size returns the file's size.
func (f *faultyFile) Size() (int64, error) {
	if err := f.fs.err(OpSize, f.name); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Sync makes content durable, or only claims to.
func (f *faultyFile) Sync() error {
	r, ok := f.fs.next(OpSync, f.name)
	switch {
	case ok && r.Err != nil:
		return pathError("sync", f.name, r.Err)
	case ok && r.Lie:
		return nil
	}
	return f.File.Sync()
}
