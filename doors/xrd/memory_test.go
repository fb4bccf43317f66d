package xrd

import (
	"bytes"
	"context"
	"crypto/md5"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/errs"
	"hemera/rules/wire"
)

// memory is a whole tiny Hemera for tests of the protocol: a tree and its files in maps. It
// implements hemera.Names, Attributes and Files, and hemera.Node.
type memory struct {
	mu      sync.Mutex
	entries map[string]*memoryEntry
	next    hemera.FileID
	grants  map[string]*memoryGrant
	addr    string // of the node's door
	// fail, if set, is asked before each file operation, and each "change" of the tree.
	fail func(op string) error
	// own: all writes under way are the asking process's.
	own bool
}

type memoryEntry struct {
	hemera.Entry
	data []byte
}

// memoryGrant is an open that was granted, and while it is written, its pending content.
type memoryGrant struct {
	request hemera.OpenRequest
	id      hemera.FileID
	mode    uint32
	pending *memoryFile
}

func newMemory() *memory {
	m := &memory{entries: map[string]*memoryEntry{}, grants: map[string]*memoryGrant{}, next: hemera.RootID}
	m.entries["/"] = &memoryEntry{Entry: m.entry("/", hemera.KindDirectory, 0o777)}
	return m
}

func (m *memory) entry(p string, kind hemera.EntryKind, mode uint32) hemera.Entry {
	now := time.Now()
	e := hemera.Entry{ID: m.next, Name: path.Base(p), Kind: kind, Mode: mode, UID: 1000, GID: 1000, Mtime: now, Ctime: now, Birth: now, Xattrs: map[string][]byte{}}
	m.next++
	return e
}

func (m *memory) find(op, p string) (*memoryEntry, error) {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if e := m.entries[dir]; e != nil && !e.IsDir() {
			return nil, errs.New(errs.NotDirectory, op, p, dir+" is a file")
		}
	}
	e := m.entries[p]
	if e == nil {
		return nil, errs.New(errs.NotFound, op, p, "")
	}
	return e, nil
}

func (m *memory) Stat(_ context.Context, _ hemera.Identity, p string) (hemera.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find("stat", p)
	if err != nil {
		return hemera.Entry{}, err
	}
	return m.view(e), nil
}

func (m *memory) view(e *memoryEntry) hemera.Entry {
	v := e.Entry
	v.Xattrs = maps.Clone(e.Xattrs)
	v.Size = int64(len(e.data))
	return v
}

func (m *memory) List(_ context.Context, _ hemera.Identity, p string, visit func(hemera.Entry) error) error {
	m.mu.Lock()
	e, err := m.find("list", p)
	if err == nil && !e.IsDir() {
		err = errs.New(errs.NotDirectory, "list", p, "")
	}
	var list []hemera.Entry
	for name, child := range m.entries {
		if name != "/" && path.Dir(name) == p {
			list = append(list, m.view(child))
		}
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b hemera.Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range list {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Mkdir(_ context.Context, _ hemera.Identity, p string, mode uint32, parents bool) (hemera.Entry, error) {
	if err := m.failing("change"); err != nil {
		return hemera.Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mkdir(p, mode, parents)
}

func (m *memory) mkdir(p string, mode uint32, parents bool) (hemera.Entry, error) {
	if e := m.entries[p]; e != nil {
		if parents && e.IsDir() {
			return m.view(e), nil
		}
		return hemera.Entry{}, errs.New(errs.Exists, "mkdir", p, "")
	}
	dir := path.Dir(p)
	if parents {
		if _, err := m.mkdir(dir, mode, true); err != nil {
			return hemera.Entry{}, err
		}
	} else if _, err := m.find("mkdir", dir); err != nil {
		return hemera.Entry{}, err
	}
	e := &memoryEntry{Entry: m.entry(p, hemera.KindDirectory, mode)}
	m.entries[p] = e
	return m.view(e), nil
}

func (m *memory) Rename(_ context.Context, _ hemera.Identity, from, to string) error {
	if err := m.failing("change"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find("rename", from)
	if err != nil {
		return err
	}
	if old := m.entries[to]; old != nil && old.IsDir() {
		return errs.New(errs.IsDirectory, "rename", to, "")
	}
	if to == from || strings.HasPrefix(to, from+"/") {
		return errs.New(errs.Invalid, "rename", to, "is below "+from)
	}
	if _, err := m.find("rename", path.Dir(to)); err != nil {
		return err
	}
	for name, child := range maps.Clone(m.entries) {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			delete(m.entries, name)
			m.entries[to+"/"+rest] = child
		}
	}
	delete(m.entries, from)
	e.Name = path.Base(to)
	m.entries[to] = e
	return nil
}

func (m *memory) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) error {
	m.mu.Lock()
	e, err := m.find("publish", p.From)
	taken := m.entries[p.To] != nil
	size := int64(0)
	if err == nil {
		size = m.view(e).Size
	}
	m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case size != p.Size:
		return errs.New(errs.Conflict, "publish", p.From, "")
	case taken && !p.Replace:
		return errs.New(errs.Exists, "publish", p.To, "")
	case p.Sum.Kind != hemera.ChecksumNone:
		return errs.New(errs.Unsupported, "publish", p.From, "")
	}
	return m.Rename(ctx, who, p.From, p.To)
}

func (m *memory) Remove(_ context.Context, _ hemera.Identity, p string, kind hemera.EntryKind) error {
	if err := m.failing("change"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find("remove", p)
	if err != nil {
		return err
	}
	if kind == hemera.KindDirectory && !e.IsDir() {
		return errs.New(errs.NotDirectory, "remove", p, "")
	}
	if kind == hemera.KindFile && e.IsDir() {
		return errs.New(errs.IsDirectory, "remove", p, "")
	}
	for name := range m.entries {
		if strings.HasPrefix(name, p+"/") {
			return errs.New(errs.NotEmpty, "remove", p, "directory not empty")
		}
	}
	delete(m.entries, p)
	return nil
}

func (m *memory) SetMode(_ context.Context, _ hemera.Identity, p string, mode uint32) error {
	return m.change(p, func(e *memoryEntry) error { e.Mode = mode; return nil })
}

func (m *memory) SetOwner(context.Context, hemera.Identity, string, int64, int64) error { return nil }

func (m *memory) SetTimes(context.Context, hemera.Identity, string, time.Time) error { return nil }

func (m *memory) SetXattr(_ context.Context, _ hemera.Identity, p, name string, value []byte, createOnly bool) error {
	return m.change(p, func(e *memoryEntry) error {
		if _, ok := e.Xattrs[name]; ok && createOnly {
			return errs.New(errs.Exists, "setxattr", name, "")
		}
		e.Xattrs[name] = value
		return nil
	})
}

func (m *memory) RemoveXattr(_ context.Context, _ hemera.Identity, p, name string) error {
	return m.change(p, func(e *memoryEntry) error {
		if _, ok := e.Xattrs[name]; !ok {
			return errs.New(errs.NoAttribute, "removexattr", name, "")
		}
		delete(e.Xattrs, name)
		return nil
	})
}

func (m *memory) change(p string, f func(*memoryEntry) error) error {
	if err := m.failing("change"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find("change", p)
	if err != nil {
		return err
	}
	return f(e)
}

// Open is hemera.Files: grants hold the request under a token that is only a number.
func (m *memory) grantOpen(r hemera.OpenRequest) (hemera.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(r.Tried, 7) {
		return hemera.Grant{}, errs.New(errs.NoReplicas, "open", r.Path, "every node was tried")
	}
	e, err := m.find("open", r.Path)
	switch {
	case err == nil && e.IsDir():
		return hemera.Grant{}, errs.New(errs.IsDirectory, "open", r.Path, "")
	case err == nil && r.Exclusive:
		return hemera.Grant{}, errs.New(errs.Exists, "open", r.Path, "")
	case err != nil && (r.Access != hemera.AccessCreate || !strings.Contains(err.Error(), "not found")):
		return hemera.Grant{}, err
	case err != nil:
		if r.Parents {
			if _, err := m.mkdir(path.Dir(r.Path), 0o755, true); err != nil {
				return hemera.Grant{}, err
			}
		}
		if _, err := m.find("open", path.Dir(r.Path)); err != nil {
			return hemera.Grant{}, err
		}
	}
	token := fmt.Sprintf("grant%d", len(m.grants))
	g := &memoryGrant{request: r, mode: r.Mode}
	if e != nil {
		g.id = e.ID
	} else {
		g.id = m.next
		m.next++
	}
	m.grants[token] = g
	cap := hemera.Capability{File: g.id, Size: r.Size, Targets: []hemera.Target{{Node: 7, Addr: m.addr}}}
	if e != nil {
		cap.BaseGen = 1
	}
	if e != nil && r.Access == hemera.AccessRead {
		cap.Size = int64(len(e.data))
	}
	return hemera.Grant{Addr: m.addr, Permit: hemera.VerifiedPermit(cap, token)}, nil
}

// memoryFiles is memory as hemera.Files, whose Open differs from hemera.Node's.
type memoryFiles struct{ *memory }

func (m memoryFiles) Open(_ context.Context, _ hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	return m.grantOpen(r)
}

func (m memoryFiles) Pending(_ context.Context, _ hemera.Identity, p, _ string, known hemera.Entry) (g hemera.Grant, e hemera.Entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for token, w := range m.grants {
		if m.own && w.pending != nil && w.request.Path == p {
			return hemera.Grant{Addr: m.addr, Permit: hemera.VerifiedPermit(hemera.Capability{Targets: []hemera.Target{{Node: 7, Addr: m.addr}}}, token)}, known, nil
		}
	}
	return g, e, errs.New(errs.NotFound, "stat", p, "")
}

func (m memoryFiles) PendingIn(_ context.Context, _ hemera.Identity, dir, _ string) (list []hemera.Entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.grants {
		if m.own && w.pending != nil && path.Dir(w.request.Path) == dir {
			list = append(list, hemera.Entry{Name: path.Base(w.request.Path), Kind: hemera.KindFile})
		}
	}
	return list, nil
}

func (m memoryFiles) Discard(_ context.Context, _ hemera.Identity, p, _, _ string) error {
	return errs.New(errs.NotFound, "remove", p, "")
}

func (m memoryFiles) Move(ctx context.Context, who hemera.Identity, from, to, _ string) error {
	return m.Rename(ctx, who, from, to)
}

func (m memoryFiles) Locate(context.Context, hemera.Identity, string) ([]hemera.Target, error) {
	return []hemera.Target{{Node: 7, Addr: m.addr}}, nil
}

func (m memoryFiles) Checksum(_ context.Context, _ hemera.Identity, p string, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, err := m.find("checksum", p)
	if err != nil {
		return hemera.Checksum{}, err
	}
	if e.IsDir() {
		return hemera.Checksum{}, errs.New(errs.IsDirectory, "checksum", p, "")
	}
	if kind == hemera.ChecksumNone {
		kind = hemera.Adler32
	}
	return sumOf(kind, e.data), nil
}

// Written is hemera.Node.
func (m *memory) Written(_ context.Context, p *hemera.Permit, _ string) (hemera.FileInfo, error) {
	token, _ := p.Token()
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.grants[token]
	if g == nil || g.pending == nil {
		return hemera.FileInfo{}, errs.New(errs.Denied, "written", "", "the capability is not known")
	}
	return g.pending.Info(), nil
}

// Open is hemera.Node.
func (m *memory) Open(_ context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	token, _ := p.Token()
	f, err := m.open(token, o.Truncate)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenPiece is hemera.Node: the piece is the file.
func (m *memory) OpenPiece(_ context.Context, p *hemera.Permit, o hemera.PieceOpen) (hemera.PieceHandle, error) {
	token, _ := p.Token()
	f, err := m.open(token, o.Truncate)
	if err != nil {
		return nil, err
	}
	return &memoryPiece{f}, nil
}

func (m *memory) open(token string, truncate bool) (*memoryFile, error) {
	if err := m.failing("open"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.grants[token]
	if g == nil {
		return nil, errs.New(errs.Denied, "open", "", "the capability is not known")
	}
	if g.pending != nil && !truncate {
		return g.pending, nil
	}
	f := &memoryFile{m: m, token: token, path: g.request.Path, id: g.id, mode: g.mode, writable: g.request.Access != hemera.AccessRead, mtime: time.Now()}
	if e := m.entries[g.request.Path]; e != nil {
		if g.request.Access != hemera.AccessCreate {
			f.data = slices.Clone(e.data)
		}
		f.mtime, f.mode = e.Mtime, e.Mode
	}
	if f.writable {
		g.pending = f
	}
	return f, nil
}

func (m *memory) Resolve(_ context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, e := range m.entries {
		if e.ID == id {
			return m.view(e), p, nil
		}
	}
	return hemera.Entry{}, "", errs.New(errs.NotFound, "resolve", id.String(), "")
}

func (m *memory) failing(op string) error {
	m.mu.Lock()
	fail := m.fail
	m.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(op)
}

// memoryFile is an open file; a write commits at Close.
type memoryFile struct {
	m        *memory
	token    string
	path     string
	id       hemera.FileID
	mode     uint32
	writable bool
	mtime    time.Time

	mu       sync.Mutex
	data     []byte
	xattrs   map[string][]byte
	detached int
	aborted  bool
}

func (f *memoryFile) readAt(p []byte, off int64) (int, error) {
	if err := f.m.failing("read"); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	n, err := f.readAt(p, off)
	if sums != nil {
		wire.SumPages(sums, p[:n], off)
	}
	return n, err
}

func (f *memoryFile) writeAt(p []byte, off int64) error {
	if err := f.m.failing("write"); err != nil {
		return err
	}
	if err := f.refusal(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := off + int64(len(p)); end > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
	}
	copy(f.data[off:], p)
	return nil
}

func (f *memoryFile) WritePages(p []byte, sums []uint32, off int64) error {
	for i, sum := range wire.SumPages(make([]uint32, wire.Fragments(off, int64(len(p)))), p, off) {
		if sums != nil && sums[i] != sum {
			return errs.New(errs.Corrupt, "write", f.path, "the door let a bad page pass")
		}
	}
	return f.writeAt(p, off)
}

// refusal is why the file cannot be changed.
func (f *memoryFile) refusal() error {
	if !f.writable {
		return errs.New(errs.Denied, "write", f.path, "the handle is open for reading")
	}
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	if err := f.refusal(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if size <= int64(len(f.data)) {
		f.data = f.data[:size]
	} else {
		f.data = append(f.data, make([]byte, size-int64(len(f.data)))...)
	}
	return nil
}

func (f *memoryFile) Sync(context.Context) error { return f.m.failing("sync") }

func (f *memoryFile) Info() hemera.FileInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return hemera.FileInfo{ID: f.id, Path: f.path, Size: int64(len(f.data)), Mtime: f.mtime, Mode: f.mode, Writable: f.writable}
}

// Shared implements hemera.File.
func (f *memoryFile) Shared() bool { return false }

// End implements hemera.File.
func (f *memoryFile) End(_ context.Context, how hemera.Ending) error {
	switch {
	case !f.writable:
		return nil
	case how == hemera.EndAbort:
		f.abort()
		return nil
	case how == hemera.EndDetach:
		f.detach()
		return nil
	}
	return f.close()
}

func (f *memoryFile) close() error {
	if err := f.m.failing("close"); err != nil {
		return err
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.m.entries[f.path]
	if e == nil {
		e = &memoryEntry{Entry: f.m.entry(f.path, hemera.KindFile, f.mode)}
		e.ID = f.id
		f.m.entries[f.path] = e
	}
	e.data, e.Mtime = f.data, time.Now()
	e.Checksums = []hemera.Checksum{sumOf(hemera.Adler32, f.data)}
	translate.ApplyAttributes(e.Xattrs, f.xattrs)
	if g := f.m.grants[f.token]; g.pending == f {
		g.pending = nil
	}
	return nil
}

func (f *memoryFile) detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.detached++
}

func (f *memoryFile) abort() {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aborted = true
	if g := f.m.grants[f.token]; g.pending == f {
		g.pending = nil
	}
}

func (f *memoryFile) SetXattr(name string, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.xattrs == nil {
		f.xattrs = map[string][]byte{}
	}
	f.xattrs[name] = value
}

func (f *memoryFile) Xattrs() map[string][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.xattrs)
}

// memoryPiece is a file opened as a piece.
type memoryPiece struct{ *memoryFile }

// NextData passes pages that are zeros.
func (p memoryPiece) NextData(off int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for off < int64(len(p.data)) {
		next := min(off+hemera.PageSize-off%hemera.PageSize, int64(len(p.data)))
		if len(bytes.Trim(p.data[off:next], "\x00")) > 0 {
			break
		}
		off = next
	}
	return off, nil
}

// Allocated is not known.
func (p memoryPiece) Allocated() (int64, error) {
	return 0, errs.New(errs.Unsupported, "allocated", p.path, "not known")
}

// End never commits.
func (p *memoryPiece) End(_ context.Context, how hemera.Ending) error {
	if how == hemera.EndAbort {
		p.abort()
	} else {
		p.detach()
	}
	return nil
}

func (p *memoryPiece) Seal(ctx context.Context, s hemera.SealInfo) (hemera.PieceStat, error) {
	if err := p.m.failing("seal"); err != nil {
		return hemera.PieceStat{}, err
	}
	if s.FileSize != p.Info().Size {
		return hemera.PieceStat{}, errs.New(errs.Conflict, "seal", p.path, "the size differs")
	}
	p.writable = false
	return hemera.PieceStat{ID: hemera.PieceID{File: p.id, Gen: 1}, Size: s.FileSize}, p.memoryFile.close()
}

// sumOf computes the checksums that the standard library has.
func sumOf(kind hemera.ChecksumKind, data []byte) hemera.Checksum {
	var h hash.Hash
	switch kind {
	case hemera.CRC32C:
		h = crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case hemera.MD5:
		h = md5.New()
	default:
		kind, h = hemera.Adler32, adler32.New()
	}
	_, _ = h.Write(data)
	c, err := hemera.MakeChecksum(kind, h.Sum(nil))
	if err != nil {
		panic(err)
	}
	return c
}
