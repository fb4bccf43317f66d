package manager

import (
	"context"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
)

// convert begins the commit of a conversion of the name, which ends with the returned function: until then no write of
// the name begins. Locked while somebody writes it, as that write is to be the one that is kept.
func (p *pending) convert(n name) (end func(), err error) {
	s := p.lock(n)
	defer s.mu.Unlock()
	if w := s.writes[n]; w != nil {
		return nil, errs.New(errs.Locked, "manager.Commit", n.name, "the file is being written by "+w.who.Name)
	}
	// The generation would refuse one of the two anyway; this one says so before the work of a commit.
	if s.converting[n] != nil {
		return nil, errs.New(errs.Locked, "manager.Commit", n.name, "another conversion of the file is being committed")
	}
	// Made when it is needed: most stripes never see a conversion.
	if s.converting == nil {
		s.converting = map[name]chan struct{}{}
	}
	// Closed once; any number of opens wait for it.
	done := make(chan struct{})
	s.converting[n] = done
	return func() {
		s := p.lock(n)
		defer s.mu.Unlock()
		delete(s.converting, n)
		// What was looked up before is outdated.
		s.converted = p.ends.Add(1)
		close(done)
	}, nil
}

// converting refuses an open that has to wait for the commit of a conversion, which takes moments.
type converting struct{ done <-chan struct{} }

// Error implements error. Callers wait and look again, so nobody reads it.
func (converting) Error() string { return "a conversion of the file is being committed" }

// await waits for the commit. It returns errOutdated, or why it did not wait.
func (c converting) await(ctx context.Context) error {
	select {
	case <-c.done:
		return errOutdated
	case <-ctx.Done():
		return errs.Wrap(ctx.Err(), "manager.Open", "")
	}
}

// outdatedBy reports whether a write that replaces a content has to look again, as a conversion has replaced it since,
// or is about to. The stripe is locked.
func (s *stripe) outdatedBy(n name, t *taker) error {
	if t.permit == nil || t.permit.BaseGen == 0 {
		return nil
	}
	// A new file has no content that could be converted.
	if done := s.converting[n]; done != nil {
		return converting{done}
	}
	if s.converted > t.since {
		return errOutdated
	}
	return nil
}

// commitConversion commits a conversion, unless the file is being written.
func (ctl *control) commitConversion(ctx context.Context, c namespace.Commit, least int) (hemera.Entry, error) {
	now, _, err := ctl.tree.Resolve(ctx, c.ID)
	// A request that comes again finds its commit made, and waits for nobody.
	if err == nil && now.Gen != c.Gen {
		// The file may have been renamed since: locks are of names.
		end, err := ctl.pending.convert(name{now.Parent, now.Name})
		if err != nil {
			return now, err
		}
		defer end()
	}
	e, err := ctl.pieces.commit(ctx, c, least)
	if err == nil {
		ctl.pending.recalls.committed(c.ID)
	}
	return e, err
}
