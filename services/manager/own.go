package manager

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
)

// Clients such as xrootdfs answer a close to their user before they send it, and open the file again at
// once, or look at it. Whoever asks for a file that the same process is writing therefore waits for the
// end of that write, as long as this: a close takes milliseconds, and a second handle beside an open one
// is rare. In one session it is shorter, as the close may be waiting in line behind this request.
const (
	ownPatience        = 3 * time.Second
	ownSessionPatience = 250 * time.Millisecond
)

// processes are the names that each process is writing.
type processes struct {
	mu    sync.Mutex
	names map[string]map[name]struct{}
}

func (p *processes) add(process string, n name) {
	if process == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[string]map[name]struct{}{}
	}
	if p.names[process] == nil {
		p.names[process] = map[name]struct{}{}
	}
	p.names[process][n] = struct{}{}
}

func (p *processes) remove(process string, n name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.names[process], n); len(p.names[process]) == 0 {
		delete(p.names, process)
	}
}

// of is what a process is writing, in the order of names.
func (p *processes) of(process string) []name {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Keys(p.names[process]), func(a, b name) int { return cmp.Compare(a.name, b.name) })
}

// own is the write under way of a name, if the process of the user began it.
func (s *stripe) own(n name, who hemera.Identity, process string) *write {
	w := s.writes[n]
	if w == nil || process == "" || w.process != process {
		return nil
	}
	if _, host := w.sameUser(&write{who: who}); !host {
		return nil
	}
	return w
}

// errNoWrite answers a stat, of which nearly every one asks in vain.
var errNoWrite = errs.New(errs.NotFound, "stat", "", "the process is not writing the file")

// Pending implements hemera.Files.
func (m *Manager) Pending(ctx context.Context, who hemera.Identity, at, process string, known hemera.Entry) (g hemera.Grant, e hemera.Entry, err error) {
	if process == "" || at == "/" || known.IsDir() || m.pending.size() == 0 {
		return g, e, errNoWrite
	}
	n := name{known.Parent, known.Name}
	if known.ID == 0 {
		dir, err := m.tree.Stat(ctx, who, path.Dir(at))
		if err != nil {
			return g, e, err
		}
		n = name{dir.ID, path.Base(at)}
	}
	s := m.pending.lock(n)
	w := s.own(n, who, process)
	if w != nil && known.ID == 0 {
		known = w.entry(n)
	}
	s.mu.Unlock()
	if w == nil {
		return g, e, errNoWrite
	}
	g, ok := m.grantOf(w)
	if !ok {
		return g, known, errNoWrite
	}
	return g, known, nil
}

// entry is the file that the write makes, as it is known of it here.
func (w *write) entry(n name) hemera.Entry {
	return hemera.Entry{
		ID: w.file, Gen: w.gen, Parent: n.parent, Name: n.name, Kind: hemera.KindFile, Mode: w.mode, UID: w.who.UID, GID: w.who.GID,
		Size: w.report.size, Birth: w.began, Mtime: w.began, Ctime: w.began,
	}
}

// PendingIn implements hemera.Files.
func (m *Manager) PendingIn(ctx context.Context, who hemera.Identity, at, process string) ([]hemera.Entry, error) {
	names := m.pending.processes.of(process)
	if len(names) == 0 {
		return nil, nil
	}
	dir, err := m.tree.Stat(ctx, who, at)
	if err != nil {
		return nil, err
	}
	var list []hemera.Entry
	for _, n := range names {
		if n.parent != dir.ID {
			continue
		}
		s := m.pending.lock(n)
		if w := s.own(n, who, process); w != nil && w.permit.BaseGen == 0 {
			list = append(list, w.entry(n))
		}
		s.mu.Unlock()
	}
	return list, nil
}

// Discard implements hemera.Files.
func (m *Manager) Discard(ctx context.Context, who hemera.Identity, at, process, session string) (err error) {
	defer m.ops.begin("Discard").end(&err)
	missing := errs.New(errs.NotFound, "remove", at, "")
	if process == "" || at == "/" || m.pending.size() == 0 {
		return missing
	}
	if m.awaitOwn(ctx, who, &namespace.Prepared{}, hemera.OpenRequest{Path: at, Process: process, Session: session}, missing) {
		return m.Remove(ctx, who, at, 0)
	}
	n, w, err := m.ownAt(ctx, who, at, process)
	if err != nil {
		return err
	}
	if w == nil {
		return missing
	}
	discarded, err := m.tree.Discard(ctx, namespace.Commit{ID: w.file, Gen: w.gen, BaseGen: w.permit.BaseGen})
	switch {
	case err != nil:
		return errs.Wrap(err, "remove", at)
	case !discarded:
		return m.Remove(ctx, who, at, 0)
	}
	m.pending.end(n, w.nonce)
	return nil
}

// join grants a process the write of the name that it has under way; not ok if it has none.
func (m *Manager) join(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) (g hemera.Grant, ok bool) {
	if r.Process == "" || m.pending.size() == 0 {
		return g, false
	}
	n, ok := m.nameOf(ctx, who, prep, r, failed)
	if !ok {
		return g, false
	}
	s := m.pending.lock(n)
	w := s.own(n, who, r.Process)
	s.mu.Unlock()
	if w == nil {
		return g, false
	}
	return m.grantOf(w)
}

// grantOf grants a write that is under way once more; not ok if its head is gone.
func (m *Manager) grantOf(w *write) (g hemera.Grant, ok bool) {
	head, ok := m.cluster.View().Node(w.head)
	if !ok {
		return g, false
	}
	return hemera.Grant{Addr: head.Addr, Permit: w.permit}, true
}

// nameOf is the name that an open is for; failed is what came of looking it up.
func (m *Manager) nameOf(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) (name, bool) {
	switch {
	case errs.KindOf(failed) == errs.NotFound:
		dir, err := m.tree.Stat(ctx, who, path.Dir(r.Path))
		return name{dir.ID, path.Base(r.Path)}, err == nil
	case failed != nil:
		return name{}, false
	case prep.Existing || r.Access == hemera.AccessRead:
		return name{prep.Entry.Parent, prep.Entry.Name}, true
	}
	return name{prep.Parent.ID, path.Base(r.Path)}, true
}

// awaitOwn waits for the end of a write of the same process, and reports whether one ended: the name is
// to be looked up again then. Who comes back to a write that was cut off does not wait for himself.
func (m *Manager) awaitOwn(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) bool {
	if r.Process == "" || r.Exclusive || r.Force || len(r.Ended)+len(r.Tried) > 0 || r.Again != nil || m.pending.size() == 0 {
		return false
	}
	n, ok := m.nameOf(ctx, who, prep, r, failed)
	if !ok {
		return false
	}
	s := m.pending.lock(n)
	w := s.own(n, who, r.Process)
	if w == nil {
		s.mu.Unlock()
		return false
	}
	if w.ended == nil {
		w.ended = make(chan struct{})
	}
	ended, patience := w.ended, ownPatience
	if w.session == r.Session {
		patience = ownSessionPatience
	}
	s.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
