package xrd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// memoryNode is the id of the only node.
const memoryNode = 7

// memoryGrant is a granted open and, for a write, its pending content. The memory's lock guards it.
type memoryGrant struct {
	m         *memory
	who       hemera.Identity
	request   hemera.OpenRequest
	path      string // of the request, or later of a move
	id        hemera.FileID
	base      hemera.Generation // replaced by its commit
	permit    *hemera.Permit
	pending   *memoryFile // nil: not opened at the node, or ended
	discarded bool
}

// commit makes the content visible, unless the file has changed since the write began. The memory and f are locked.
func (g *memoryGrant) commit(f *memoryFile) error {
	e, err := g.m.Stat(context.Background(), tester, g.path)
	switch {
	case g.discarded, err != nil && g.base != 0:
		return errs.New(errs.Conflict, "xrd.Commit", g.path, "the file was removed meanwhile")
	case err == nil && e.Gen != g.base && !g.request.Force:
		return errs.New(errs.Conflict, "xrd.Commit", g.path, "the file was rewritten meanwhile")
	case err != nil:
		e = g.entry()
	}
	if e.Xattrs = maps.Clone(e.Xattrs); e.Xattrs == nil {
		e.Xattrs = map[string][]byte{}
	}
	translate.ApplyAttributes(e.Xattrs, f.xattrs)
	e.Gen, e.Size, e.Mtime, e.Checksums = e.Gen+1, int64(len(f.data)), time.Now(), []hemera.Checksum{sumOf(hemera.Adler32, f.data)}
	g.m.Put(g.path, e)
	g.m.data[e.ID] = f.data
	g.base = e.Gen // so a second close of the same write does not conflict
	g.end(f)
	return nil
}

// end frees the lock, and forgets the content if it still belongs to the write.
func (g *memoryGrant) end(f *memoryFile) {
	if g.pending == f {
		g.pending = nil
	}
	g.free()
}

// free frees the lock if the write has it.
func (g *memoryGrant) free() {
	if g.m.locks[g.path] == g {
		delete(g.m.locks, g.path)
	}
}

// refuses returns the reason why another open must not take the lock, or nil. A user may open its own write again: the
// first commit wins. Unlike a manager, memory allows this for exclusive creates too.
func (g *memoryGrant) refuses(who hemera.Identity, r hemera.OpenRequest) error {
	switch {
	case g == nil || r.Force || r.Access == hemera.AccessRead || who.UID == g.who.UID && who.Name == g.who.Name && who.Host == g.who.Host:
		return nil
	case r.Exclusive:
		return errs.New(errs.Exists, "xrd.Open", r.Path, "the file is being made")
	}
	return errs.New(errs.Locked, "xrd.Open", r.Path, "another writer holds the file")
}

// ownAt returns the process's write of the path, or nil. mu is held.
func (m *memory) ownAt(p string, who hemera.Identity, process string) *memoryGrant {
	g := m.locks[p]
	if g == nil || process == "" || g.request.Process != process || g.who.UID != who.UID || g.who.Name != who.Name {
		return nil
	}
	return g
}

// memoryFiles implements hemera.Files, whose Open differs from that of hemera.Node. It ignores Unchanged, because its
// files are never older than the test.
type memoryFiles struct{ *memory }

// Open implements hemera.Files: tokens are only numbers.
func (m memoryFiles) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	if slices.Contains(r.Tried, memoryNode) {
		return hemera.Grant{}, errs.New(errs.NoReplicas, "xrd.Open", r.Path, "every node was tried")
	}
	e, err := m.opened(ctx, who, r) // before the lock, which Refuse of the tree takes
	if err != nil {
		return hemera.Grant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.ownAt(r.Path, who, r.Process); g != nil && r.Join {
		return m.granted(g), nil
	}
	if err := m.locks[r.Path].refuses(who, r); err != nil {
		return hemera.Grant{}, err
	}
	g := &memoryGrant{m: m.memory, who: who, request: r, path: r.Path}
	c := hemera.Capability{
		Path: r.Path, Name: path.Base(r.Path), Access: r.Access, Size: r.Size, Mode: r.Mode, Who: who, Head: memoryNode,
		Targets: []hemera.Target{{Node: memoryNode, Addr: m.addr}},
	}
	switch {
	case e.ID == 0:
		g.id = m.Reserve()
	case r.Access == hemera.AccessRead:
		g.id, c.Gen, c.Size, c.Mode, c.Sums = e.ID, e.Gen, e.Size, e.Mode, e.Checksums
	default:
		g.id, g.base, c.Mode = e.ID, e.Gen, e.Mode
	}
	c.File, c.BaseGen = g.id, g.base
	if r.Access == hemera.AccessUpdate {
		c.Base = &hemera.Base{Gen: e.Gen, Size: e.Size, Pieces: c.Targets}
	}
	token := fmt.Sprintf("grant%d", len(m.grants))
	g.permit = hemera.VerifiedPermit(c, token)
	m.grants[token] = g
	if r.Access != hemera.AccessRead {
		m.locks[r.Path] = g
	}
	return m.granted(g), nil
}

// opened returns the entry for an open: a zero Entry for a new file.
func (m memoryFiles) opened(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Entry, error) {
	e, err := m.Stat(ctx, who, r.Path)
	switch {
	case err == nil && e.IsDir():
		err = errs.New(errs.IsDirectory, "xrd.Open", r.Path, "")
	case err == nil && r.Exclusive:
		err = errs.New(errs.Exists, "xrd.Open", r.Path, "")
	}
	if r.Access != hemera.AccessCreate || !errors.Is(err, errs.NotFound) {
		return e, err
	}
	if r.Parents {
		_, err = m.Mkdir(ctx, who, path.Dir(r.Path), 0o755, true) // for "/d/new/" it is "/d/new"
	} else {
		_, err = m.Stat(ctx, who, path.Dir(hemera.PlainPath(r.Path)))
	}
	if err == nil && hemera.OfDirectory(r.Path) {
		err = errs.New(errs.IsDirectory, "xrd.Open", r.Path, "")
	}
	return hemera.Entry{}, err
}

// granted returns a grant that redirects a client to the node.
func (m memoryFiles) granted(g *memoryGrant) hemera.Grant {
	return hemera.Grant{Addr: m.addr, Permit: g.permit}
}

// Pending implements hemera.Files.
func (m memoryFiles) Pending(_ context.Context, who hemera.Identity, p, process string, known hemera.Entry) (hemera.Grant, hemera.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.ownAt(p, who, process)
	if g == nil {
		return hemera.Grant{}, hemera.Entry{}, errs.New(errs.NotFound, "xrd.Stat", p, "")
	}
	if known.ID == 0 {
		known = g.entry()
	}
	return m.granted(g), known, nil
}

// entry returns the entry of the file that the write makes.
func (g *memoryGrant) entry() hemera.Entry {
	now := time.Now()
	return hemera.Entry{
		ID: g.id, Name: path.Base(g.path), Kind: hemera.KindFile, Mode: g.request.Mode, UID: g.who.UID, GID: g.who.GID, Mtime: now, Ctime: now, Birth: now,
	}
}

// PendingIn implements hemera.Files.
func (m memoryFiles) PendingIn(_ context.Context, who hemera.Identity, dir, process string) (list []hemera.Entry, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, g := range m.locks {
		if path.Dir(p) == dir && g.base == 0 && m.ownAt(p, who, process) == g {
			list = append(list, g.entry())
		}
	}
	return list, nil
}

// Discard implements hemera.Files.
func (m memoryFiles) Discard(_ context.Context, who hemera.Identity, p, process, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.ownAt(p, who, process)
	if g == nil || g.base != 0 {
		return errs.New(errs.NotFound, "xrd.Remove", p, "")
	}
	g.discarded = true
	g.free()
	return nil
}

// Move implements hemera.Files. An open write moves within its directory.
func (m memoryFiles) Move(ctx context.Context, who hemera.Identity, from, to, process string) error {
	m.mu.Lock()
	g := m.ownAt(from, who, process)
	_, err := m.Stat(ctx, who, to)
	if g == nil || g.base != 0 || path.Dir(from) != path.Dir(to) || m.locks[to] != nil || err == nil {
		m.mu.Unlock()
		return m.Rename(ctx, who, from, to)
	}
	defer m.mu.Unlock()
	g.free()
	g.path = to
	m.locks[to] = g
	return nil
}

// Locate implements hemera.Files.
func (m memoryFiles) Locate(ctx context.Context, who hemera.Identity, p string) ([]hemera.Target, error) {
	if _, err := m.Stat(ctx, who, p); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return []hemera.Target{{Node: memoryNode, Addr: m.addr}}, nil
}

// Checksum implements hemera.Files.
func (m memoryFiles) Checksum(ctx context.Context, who hemera.Identity, p string, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	e, err := m.Stat(ctx, who, p)
	if err != nil {
		return hemera.Checksum{}, err
	}
	if e.IsDir() {
		return hemera.Checksum{}, errs.New(errs.IsDirectory, "xrd.Checksum", p, "")
	}
	if kind == hemera.ChecksumNone {
		kind = hemera.Adler32
	}
	return sumOf(kind, []byte(m.stored(p))), nil
}

// grantOpen opens a file for the tests' user.
func (m *memory) grantOpen(r hemera.OpenRequest) (hemera.Grant, error) {
	return memoryFiles{m}.Open(context.Background(), tester, r)
}
