package xrd

import (
	"bytes"
	"context"
	"crypto/md5"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"hemera/rules/wire"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// memory is a small cluster in memory for tests of the protocol: a tree, and the content of its files in a map. It
// implements hemera.Names, Directories, Attributes and Node; memoryFiles implements hemera.Files.
type memory struct {
	*fixture.Tree // locked after mu

	mu     sync.Mutex
	data   map[hemera.FileID][]byte // committed content
	grants map[string]*memoryGrant  // by token
	locks  map[string]*memoryGrant  // by path: current writes
	addr   string                   // of the node's door
	// fail, if set, is called before each file operation, and before each "change" of the tree.
	fail func(op string) error
}

// tester is the user of all tests.
var tester = hemera.Identity{Name: "tester", UID: 1000, GID: 1000}

func newMemory() *memory {
	m := &memory{
		Tree: fixture.NewEmptyTree(time.Now), data: map[hemera.FileID][]byte{},
		grants: map[string]*memoryGrant{}, locks: map[string]*memoryGrant{},
	}
	m.Edit("/", func(e *hemera.Entry) { e.UID, e.GID = 1000, 1000 })
	m.Refuse = func() error { return m.failing("change") }
	return m
}

// put makes a file.
func (m *memory) put(path, content string) {
	e := m.Put(path, hemera.Entry{
		Kind: hemera.KindFile, Mode: 0o644, UID: 1000, GID: 1000, Gen: 1, Size: int64(len(content)),
		Checksums: []hemera.Checksum{sumOf(hemera.Adler32, []byte(content))},
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data[e.ID] = []byte(content)
}

// stored returns the committed content of the path.
func (m *memory) stored(path string) string {
	e, err := m.Stat(context.Background(), tester, path)
	if err != nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.data[e.ID])
}

// Written implements hemera.Node.
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

// Open implements hemera.Node.
func (m *memory) Open(_ context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	token, _ := p.Token()
	f, err := m.open(token, o.Truncate)
	if err != nil {
		return nil, err
	}
	if o.Path != "" && o.Path != f.grant.request.Path { // without a path the permit was granted at this door
		return nil, errs.New(errs.Denied, "memory.Open", o.Path, "the capability is for another path")
	}
	return f, nil
}

// User implements hemera.Node. Without another name a grant belongs to its opener.
func (m *memory) User(_ context.Context, p *hemera.Permit) (hemera.Identity, error) {
	token, _ := p.Token()
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.grants[token]; g != nil {
		return g.who, nil
	}
	return hemera.Identity{}, errs.New(errs.Denied, "memory.User", "", "unknown token")
}

// OpenPiece implements hemera.Node. The piece is the file.
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
	f := &memoryFile{m: m, grant: g, path: g.path, id: g.id, mode: g.request.Mode, writable: g.request.Access != hemera.AccessRead, mtime: time.Now()}
	if e, err := m.Stat(context.Background(), tester, g.path); err == nil {
		if g.request.Access != hemera.AccessCreate {
			f.data = slices.Clone(m.data[e.ID])
		}
		f.mtime, f.mode = e.Mtime, e.Mode
	}
	if f.writable {
		g.pending = f
	}
	return f, nil
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
	grant    *memoryGrant
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

// refusal returns the reason why the file cannot be changed, or nil.
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
	return f.grant.commit(f)
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
	f.grant.end(f)
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

// NextData skips pages of zeros.
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

// Clone implements hemera.Cloner. An update has the content of its base already.
func (p memoryPiece) Clone(_ context.Context, size int64) error {
	if p.grant.request.Access != hemera.AccessUpdate {
		return errs.New(errs.NotFound, "clone", p.path, "there is no base")
	}
	return p.Truncate(size)
}

// Allocated fails with Unsupported.
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

// sumOf computes checksums of the kinds that the standard library supports.
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
