package sim

import (
	"context"
	"errors"

	"hemera/manager"
	"hemera/test/sim/simnet"
	"hemera/test/sim/simtape"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// onTape reports whether an open was refused because the file is on tape only, and is being recalled now.
func onTape(err error) bool {
	// Both kinds say that it may be tried again; a lost message says nothing of the file.
	return errs.KindOf(err) == errs.Unavailable && !errors.Is(err, simnet.ErrLost)
}

// tapeUser does the actions of a client with files on tape. It is the client itself: its goroutine, its choices, its
// place on the network.
type tapeUser struct{ client *client }

// step does one thing that only files on tape know.
// Evictions are the most frequent: what is on disk needs no recall.
func (u tapeUser) step(ctx context.Context, path string) {
	switch u.client.rng.IntN(10) {
	case 0, 1:
		u.stage(ctx, path)
	case 2:
		u.cancelStage(ctx)
	// One release for each request that staged it, or for none: the manager counts.
	case 3, 4:
		u.leave(ctx, path, func(ctx context.Context, m *manager.Manager) error {
			one, err := m.Staging.Release(ctx, u.client.who, "", []string{path})
			return errors.Join(append(one, err)...)
		})
	// As an admin: it goes however many have staged it, once all copies are on tape.
	case 5, 6, 7:
		u.leave(ctx, path, func(ctx context.Context, m *manager.Manager) error {
			_, err := m.Staging.Evict(ctx, hemera.SystemIdentity(), path)
			return err
		})
	case 8:
		u.queryStage(ctx)
	// Of a directory with a class the class is the directory's, whatever is asked for.
	case 9:
		class := []string{simtape.ClassOne, simtape.ClassTwo}[u.client.rng.IntN(2)]
		_, err := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (int, error) {
			return m.Staging.ArchiveNow(ctx, u.client.who, path, class)
		})
		u.client.saw("archive %s as %s: %v", path, class, err)
	}
}

// id returns the number of the file at a path, zero if it cannot be asked for.
func (u tapeUser) id(ctx context.Context, path string) hemera.FileID {
	// Where the answer is lost the file is left out, and nothing is held against the cluster.
	e, _ := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (hemera.Entry, error) {
		return m.Names.Stat(ctx, u.client.who, path)
	})
	return e.ID
}

// stage asks for some files to be on disk. What was acknowledged must be so in the end.
// Some of the files may not be there: they are a part of the request, with their error.
func (u tapeUser) stage(ctx context.Context, path string) {
	r := tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: path}}}
	for i := range u.client.rng.IntN(3) {
		r.Files = append(r.Files, tapeapi.StageFile{Path: u.client.dirs[i%len(u.client.dirs)] + "/f" + string(rune('0'+u.client.rng.IntN(4)))})
	}
	// Before anything is looked up: an eviction that comes later frees the cluster from what it owes.
	begun := u.client.w.ledger.Begin()
	ids := map[string]hemera.FileID{}
	for _, f := range r.Files {
		if id := u.id(ctx, f.Path); id != 0 {
			ids[f.Path] = id
		}
	}
	// Without a name, so that a request whose answer was lost is one that nobody knows of.
	id, err := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (string, error) {
		if u.client.w.plan.sabotage == ForgetRequests && u.client.rng.IntN(3) == 0 {
			return "forgotten", nil
		}
		return m.Staging.Stage(ctx, u.client.who, r)
	})
	u.client.saw("stage %v: %s, %v", r.Files, id, err)
	// From here on it must be known, and be served in the end.
	if err == nil {
		u.client.w.ledger.Asked(begun, simtape.Request{ID: id, Who: u.client.who, Files: ids})
	}
}

// cancelStage withdraws one of the client's requests, and has it forgotten half of the time.
// What another request wants is recalled all the same.
func (u tapeUser) cancelStage(ctx context.Context) {
	ids := u.client.w.ledger.Of(u.client.who.UID)
	if len(ids) == 0 {
		return
	}
	// From the first request on nothing is owed, even if it is refused.
	id, forget := ids[u.client.rng.IntN(len(ids))], u.client.rng.IntN(2) == 0
	u.client.w.ledger.Withdrawing(id)
	_, err := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) {
		return struct{}{}, m.Staging.CancelStage(ctx, u.client.who, id, nil, forget)
	})
	u.client.saw("withdraw request %s, forget %t: %v", id, forget, err)
}

// queryStage asks how far a request is: it must be known.
// What the answer says of files is checked at the end, when nothing moves.
func (u tapeUser) queryStage(ctx context.Context) {
	ids := u.client.w.ledger.Of(u.client.who.UID)
	if len(ids) == 0 {
		return
	}
	id := ids[u.client.rng.IntN(len(ids))]
	s, err := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (tapeapi.StageStatus, error) {
		return m.Staging.StageStatus(ctx, u.client.who, id)
	})
	u.client.saw("query request %s: %+v, %v", id, s.Files, err)
	// Other errors are of the network, or of a manager that starts.
	if errs.KindOf(err) == errs.NotFound {
		u.client.w.fail("%s made request %s, which is not known any more", u.client.name, id)
	}
}

// leave has the disk copies of a file go, by a release or at once.
// A refusal is no violation: copies may be missing, or others may use it.
func (u tapeUser) leave(ctx context.Context, path string, how func(context.Context, *manager.Manager) error) {
	id := u.id(ctx, path)
	// A file that nobody can name cannot be told from one that others wait for.
	if id == 0 {
		return
	}
	// Before and after: somebody may ask for the file in between.
	u.client.w.ledger.Leaving(id)
	_, err := ask(ctx, u.client.w, u.client.host, false, func(ctx context.Context, m *manager.Manager) (struct{}, error) { return struct{}{}, how(ctx, m) })
	u.client.w.ledger.Leaving(id)
	u.client.saw("lets the disk copies of %s go: %v", path, err)
}

// mayReplace notes that a file may get another content later, by a write whose end is not known.
func (u tapeUser) mayReplace(file hemera.FileID) {
	if u.client.w.plan.tape {
		u.client.w.ledger.MayBeReplaced(file)
	}
}

// replaces notes that a file gets another content, before and after its close: those who asked for the old one have no claim to the new one.
// A new content begins without requests.
func (u tapeUser) replaces(file hemera.FileID) {
	if u.client.w.plan.tape {
		u.client.w.ledger.Leaving(file)
	}
}
