package sim

import (
	"context"
	"errors"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/services/manager"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
)

// onTape reports whether an open was refused because the file is on tape only, and is being recalled now.
func onTape(err error) bool {
	return errs.KindOf(err) == errs.Unavailable && !errors.Is(err, simnet.ErrLost)
}

// awaits opens as open does, and waits up to a time for a file that is on tape only.
func (c *client) awaits(ctx context.Context, r hemera.OpenRequest, limit time.Duration) (h *handle, err error) {
	const pause = 3 * time.Second
	for waited := time.Duration(0); ; waited += pause {
		if h, err = c.open(ctx, r); !c.w.plan.tape || !onTape(err) || waited >= limit {
			return h, err
		}
		simnet.Rest(ctx, pause)
	}
}

// tapeStep does one thing that only files on tape know.
func (c *client) tapeStep(ctx context.Context, path string) {
	switch c.rng.IntN(10) {
	case 0, 1:
		c.stage(ctx, path)
	case 2:
		c.cancelStage(ctx)
	case 3, 4:
		c.leave(ctx, path, func(ctx context.Context, m *manager.Manager) error {
			one, err := m.Release(ctx, c.who, "", []string{path})
			return errors.Join(append(one, err)...)
		})
	case 5, 6, 7:
		c.leave(ctx, path, func(ctx context.Context, m *manager.Manager) error {
			return m.Evict(ctx, hemera.SystemIdentity(), path)
		})
	case 8:
		c.queryStage(ctx)
	case 9:
		class := []string{classOne, classTwo}[c.rng.IntN(2)]
		_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
			return struct{}{}, m.ArchiveNow(ctx, c.who, path, class)
		})
		c.saw("archive %s as %s: %v", path, class, err)
	}
}

// id is the number of the file at a path, zero if it cannot be asked for.
func (c *client) id(ctx context.Context, path string) hemera.FileID {
	e, _ := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) { return m.Stat(ctx, c.who, path) })
	return e.ID
}

// stage asks for some files to be on disk. What was acknowledged must be so in the end.
func (c *client) stage(ctx context.Context, path string) {
	r := hemera.StageRequest{Files: []hemera.StageFile{{Path: path}}}
	for i := range c.rng.IntN(3) {
		r.Files = append(r.Files, hemera.StageFile{Path: c.dirs[i%len(c.dirs)] + "/f" + string(rune('0'+c.rng.IntN(4)))})
	}
	begun := c.w.ledger.Begin()
	ids := map[string]hemera.FileID{}
	for _, f := range r.Files {
		if id := c.id(ctx, f.Path); id != 0 {
			ids[f.Path] = id
		}
	}
	id, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (string, error) {
		if c.w.plan.sabotage == ForgetRequests && c.rng.IntN(3) == 0 {
			return "forgotten", nil
		}
		return m.Stage(ctx, c.who, r)
	})
	c.saw("stage %v: %s, %v", r.Files, id, err)
	if err == nil {
		c.w.ledger.Asked(begun, simtape.Request{ID: id, Who: c.who, Files: ids})
	}
}

// cancelStage withdraws one of the client's requests, and has it forgotten half of the time.
func (c *client) cancelStage(ctx context.Context) {
	ids := c.w.ledger.Of(c.who.UID)
	if len(ids) == 0 {
		return
	}
	id, forget := ids[c.rng.IntN(len(ids))], c.rng.IntN(2) == 0
	c.w.ledger.Withdrawing(id)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.CancelStage(ctx, c.who, id, nil, forget)
	})
	c.saw("withdraw request %s, forget %t: %v", id, forget, err)
}

// queryStage asks how far a request is: it must be known.
func (c *client) queryStage(ctx context.Context) {
	ids := c.w.ledger.Of(c.who.UID)
	if len(ids) == 0 {
		return
	}
	id := ids[c.rng.IntN(len(ids))]
	s, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (hemera.StageStatus, error) {
		return m.StageStatus(ctx, c.who, id)
	})
	c.saw("query request %s: %+v, %v", id, s.Files, err)
	if errs.KindOf(err) == errs.NotFound {
		c.w.fail("%s made request %s, which is not known any more", c.name, id)
	}
}

// leave has the disk copies of a file go, by a release or at once.
func (c *client) leave(ctx context.Context, path string, how func(context.Context, *manager.Manager) error) {
	id := c.id(ctx, path)
	if id == 0 {
		return
	}
	// Before and after: somebody may ask for the file in between.
	c.w.ledger.Leaving(id)
	_, err := ask(ctx, c.w, c.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) { return struct{}{}, how(ctx, m) })
	c.w.ledger.Leaving(id)
	c.saw("lets the disk copies of %s go: %v", path, err)
}
