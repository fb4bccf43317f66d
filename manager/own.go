package manager

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Clients such as xrootdfs answer a close to their user before they send it, and open the file again at
// once, or look at it. A request for a file that the same process is writing therefore waits for the
// end of that write, as long as this: a close takes milliseconds, and a second handle beside an open one
// is rare. In one session it is shorter, as the close may be waiting in line behind this request.
const (
	ownPatience        = 3 * time.Second
	ownSessionPatience = 250 * time.Millisecond
)

// processes are the names that each process is writing.
type processes struct {
	mu    sync.Mutex                   // guards names; taken with a stripe held, and takes no lock itself
	names map[string]map[name]struct{} // by process; no set in it is empty
}

// add notes that the process is writing the name. An empty process is not known.
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

// remove notes that the write of the name has ended.
func (p *processes) remove(process string, n name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.names[process], n); len(p.names[process]) == 0 {
		delete(p.names, process)
	}
}

// of returns the files that a process is writing, in the order of names.
func (p *processes) of(process string) []name {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Keys(p.names[process]), func(a, b name) int { return cmp.Compare(a.name, b.name) })
}

// own returns the write under way of a name, if the process of the user began it.
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

// errNoWrite answers stats. Nearly every stat gets it, so it is made once.
var errNoWrite = errs.New(errs.NotFound, "manager.Stat", "", "the process is not writing the file")

// ownWrites is the part of hemera.Files by which a process finds its own writes that are not committed yet.
type ownWrites struct {
	tree    namespace.Parts
	cluster *cluster.Cluster
	pending *pending
	names   hemera.Names // for changes of what is committed
	ops     *operations
}

// Pending implements hemera.Files.
func (o *ownWrites) Pending(ctx context.Context, who hemera.Identity, at, process string, known hemera.Entry) (g hemera.Grant, e hemera.Entry, err error) {
	// The cheap tests come first: this runs for every stat, and hardly any process is writing what it looks at.
	if process == "" || at == "/" || known.IsDir() || o.pending.size() == 0 {
		return g, e, errNoWrite
	}
	// A visible file has its own parent and name, whatever path led to it.
	n := name{known.Parent, known.Name}
	if known.ID == 0 {
		dir, err := o.tree.Stat(ctx, who, path.Dir(at))
		if err != nil {
			return g, e, err
		}
		n = name{dir.ID, path.Base(at)}
	}
	s := o.pending.lock(n)
	w := s.own(n, who, process)
	// Under the lock, as the head's report changes.
	if w != nil && known.ID == 0 {
		known = w.entry(n)
	}
	s.mu.Unlock()
	if w == nil {
		return g, e, errNoWrite
	}
	// A permit is never changed, so it may be used without the lock.
	g, ok := o.grantOf(w)
	if !ok {
		return g, known, errNoWrite
	}
	return g, known, nil
}

// entry returns the file that the write makes, as far as it is known here.
func (w *write) entry(n name) hemera.Entry {
	return hemera.Entry{
		ID: w.file, Gen: w.gen, Parent: n.parent, Name: n.name, Kind: hemera.KindFile, Mode: w.mode, UID: w.who.UID, GID: w.who.GID,
		Size: w.report.size, Birth: w.began, Mtime: w.began, Ctime: w.began,
	}
}

// PendingIn implements hemera.Files.
func (o *ownWrites) PendingIn(ctx context.Context, who hemera.Identity, at, process string) ([]hemera.Entry, error) {
	names := o.pending.processes.of(process)
	if len(names) == 0 {
		return nil, nil
	}
	dir, err := o.tree.Stat(ctx, who, at)
	if err != nil {
		return nil, err
	}
	var list []hemera.Entry
	for _, n := range names {
		if n.parent != dir.ID {
			continue
		}
		s := o.pending.lock(n)
		// A write of an existing file is in the list of the namespace already.
		if w := s.own(n, who, process); w != nil && w.permit.BaseGen == 0 {
			list = append(list, w.entry(n))
		}
		s.mu.Unlock()
	}
	return list, nil
}

// Discard implements hemera.Files.
func (o *ownWrites) Discard(ctx context.Context, who hemera.Identity, at, process, session string) (err error) {
	defer o.ops.begin("Discard").end(&err)
	// The error of a removal, as that is what the client asked for.
	missing := errs.New(errs.NotFound, "manager.Remove", at, "")
	if process == "" || at == "/" || o.pending.size() == 0 {
		return missing
	}
	if o.awaitOwn(ctx, who, &namespace.Prepared{}, hemera.OpenRequest{Path: at, Process: process, Session: session}, missing) {
		// The close came, so the file is visible and is removed like any other.
		return o.names.Remove(ctx, who, at, 0)
	}
	n, w, err := o.ownAt(ctx, who, at, process)
	if err != nil {
		return err
	}
	if w == nil {
		return missing
	}
	// The refusal is durable before the lock is freed: a commit that comes later fails with Conflict.
	discarded, err := o.tree.Discard(ctx, namespace.Commit{ID: w.file, Gen: w.gen, BaseGen: w.permit.BaseGen, Replaces: w.permit.Replaces})
	switch {
	case err != nil:
		return errs.Wrap(err, "manager.Remove", at)
	// The commit was faster.
	case !discarded:
		return o.names.Remove(ctx, who, at, 0)
	}
	// The head finds out at its commit, and removes the pieces.
	o.pending.end(n, w.nonce)
	return nil
}

// join grants a process the write of the name that it has under way; not ok if it has none.
func (o *ownWrites) join(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) (g hemera.Grant, ok bool) {
	if r.Process == "" || o.pending.size() == 0 {
		return g, false
	}
	n, ok := o.nameOf(ctx, who, prep, r, failed)
	if !ok {
		return g, false
	}
	s := o.pending.lock(n)
	w := s.own(n, who, r.Process)
	s.mu.Unlock()
	if w == nil {
		return g, false
	}
	return o.grantOf(w)
}

// grantOf grants a write that is under way once more; not ok if its head is gone.
func (o *ownWrites) grantOf(w *write) (g hemera.Grant, ok bool) {
	head, ok := o.cluster.View().Node(w.head)
	if !ok {
		return g, false
	}
	// The address is the head's now, as it may have registered with another one since.
	return hemera.Grant{Addr: head.Addr, Permit: w.permit}, true
}

// nameOf returns the name that an open is for; failed is the error of the look-up.
func (o *ownWrites) nameOf(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) (name, bool) {
	switch {
	case errs.KindOf(failed) == errs.NotFound:
		dir, err := o.tree.Stat(ctx, who, path.Dir(r.Path))
		return name{dir.ID, path.Base(r.Path)}, err == nil
	case failed != nil:
		return name{}, false
	case prep.Existing || r.Access == hemera.AccessRead:
		return name{prep.Entry.Parent, prep.Entry.Name}, true
	}
	return name{prep.Parent.ID, path.Base(r.Path)}, true
}

// awaitOwn waits for the end of a write of the same process, and reports whether one ended: the name is
// to be looked up again then. A client that comes back to a write that was cut off does not wait for itself.
func (o *ownWrites) awaitOwn(ctx context.Context, who hemera.Identity, prep *namespace.Prepared, r hemera.OpenRequest, failed error) bool {
	// Exclusive and Force say themselves what to do about another writer.
	if r.Process == "" || r.Exclusive || r.Force || len(r.Ended)+len(r.Tried) > 0 || r.Again != nil || o.pending.size() == 0 {
		return false
	}
	n, ok := o.nameOf(ctx, who, prep, r, failed)
	if !ok {
		return false
	}
	ended, session := o.pending.awaited(n, who, r.Process)
	if ended == nil {
		return false
	}
	patience := ownPatience
	if session == r.Session {
		patience = ownSessionPatience
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-ended:
		return true
	// The write continues. The open is decided like any other, and may fail with Locked.
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
