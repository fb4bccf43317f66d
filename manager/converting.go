package manager

import (
	"context"
	"sync"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// convert begins the commit of a conversion of the name, which ends with the returned function: until then no write of
// the name begins. Locked while a client writes it, as that write is to be the one that is kept.
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
		// Earlier answers are outdated.
		s.converted = p.ends.Add(1)
		close(done)
	}, nil
}

// converting refuses an open that has to wait for the commit of a conversion, which takes moments.
type converting struct{ done <-chan struct{} }

// Error implements error. Callers wait and look again, so it is not read.
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

// granted has the conversions that this manager waits for, by the generations they make: none is given twice. What an earlier life of the manager
// granted, or nobody waits for any more, is not committed: its order may be replaced by one that found the file as it is to be. The zero value is
// ready to use.
type granted struct {
	mu sync.Mutex
	of map[hemera.Generation]*sync.WaitGroup // of the commits under way
}

// add notes a conversion, until end.
func (g *granted) add(gen hemera.Generation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[hemera.Generation]*sync.WaitGroup{}
	}
	g.of[gen] = new(sync.WaitGroup)
}

// end has later commits of the conversion refused, and waits for the one that may be under way.
func (g *granted) end(gen hemera.Generation) {
	g.mu.Lock()
	commits := g.of[gen]
	delete(g.of, gen)
	g.mu.Unlock()
	if commits != nil {
		commits.Wait()
	}
}

// commit begins the commit of a conversion, which ends with the returned function. It returns false if no caller waits
// for it.
func (g *granted) commit(gen hemera.Generation) (end func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	commits := g.of[gen]
	if commits == nil {
		return nil, false
	}
	commits.Add(1) // before end can wait, which takes it out first
	return commits.Done, true
}

// commitConversion commits a conversion, unless the file is being written, or this manager does not wait for it. A recall of a file that is
// on tape only is one that undoes nothing: it needs no grant of this life.
func (ctl *control) commitConversion(ctx context.Context, c namespace.Commit, least int) (hemera.Entry, error) {
	now, _, err := ctl.tree.Resolve(ctx, c.ID)
	// A request that comes again finds its commit made, and does not wait.
	if err == nil && now.Gen != c.Gen {
		// Writes that an earlier life granted may hold the name.
		if err := ctl.heads.await(ctx); err != nil {
			return now, err
		}
		if !now.Evicted() {
			done, ok := ctl.pending.granted.commit(c.Gen)
			if !ok {
				return now, errs.New(errs.Conflict, "manager.Commit", now.Name, "the manager does not wait for this conversion any more").
					WithRemedy("its request converts the file again, unless a newer one decides")
			}
			defer done()
		}
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
