package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hemera/cluster"
	"hemera/rules/layout"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// returnTime bounds the time that nodes that are away may take to register again before clients hear that there is no
// disk: from the manager's start, or from a node's last heartbeat. A node that restarts, or a switch that does, takes
// less.
const returnTime = 4 * hemera.HeartbeatTimeout

// gatherTime is the time after the manager's start in which new files wait for as many disks as their layout has pieces. The first node is back a
// moment before the others, and would get the only piece. A node that is there tries to register at least every two seconds.
const gatherTime = 2 * time.Second

// returns has clients wait for nodes that may come back.
type returns struct {
	views   *hemera.Views
	now     func() time.Time
	started time.Time // nodes that were there before have returnTime from here
}

// lack is the error of an open that found too few disks while nodes may come back. A door may keep it for a while, so it has no view and no entry.
type lack struct {
	error
	version uint64                  // of the view that had too few
	tried   []hemera.NodeID         // nodes that failed its client
	enough  func(*hemera.View) bool // reports whether a view may have enough
	until   time.Time               // from then on fewer are enough; zero if not
}

func (l *lack) Unwrap() error { return l.error }

// lacking notes with NoReplicas and NoSpace what is to be waited for, if nodes may come back that are not there in the view. It returns other errors
// as they are.
func (r returns) lacking(err error, in *hemera.View, tried []hemera.NodeID, enough func(*hemera.View) bool) error {
	if kind := errs.KindOf(err); err == nil || kind != errs.NoReplicas && kind != errs.NoSpace || !r.returning(in, tried) {
		return err
	}
	return &lack{error: err, version: in.Version, tried: tried, enough: enough}
}

// hasPieces returns a test of views: whether a file can be read, at nodes that the client has not tried.
func hasPieces(e *hemera.Entry, tried []hemera.NodeID) func(*hemera.View) bool {
	l, size, pieces := e.Layout, e.Size, e.Pieces
	return func(v *hemera.View) bool {
		if len(pieces) == 0 {
			return anyNode(v, tried, 0) != nil
		}
		return len(place.Order(v, pieces, "", tried, 0)) > 0 && enough(l, size, place.Order(v, pieces, "", nil, 0))
	}
}

// hasDisks returns a test of views: whether count disks of a space take pieces, at nodes that the client has not tried. Their room is not looked at.
func hasDisks(space hemera.SpaceName, count int, tried []hemera.NodeID) func(*hemera.View) bool {
	return func(v *hemera.View) bool {
		there := 0
		for i := range v.Disks {
			if d := &v.Disks[i]; d.Space == space && d.Writable() && !slices.Contains(tried, d.Node) {
				there++
			}
			if there >= count {
				return true
			}
		}
		return false
	}
}

// defers reports a want of disks as Unavailable while nodes may still come back: clients wait then,
// and do not fail. Nodes that the client has tried in vain are not waited for.
func (r returns) defers(err error, tried []hemera.NodeID) error {
	if kind := errs.KindOf(err); err == nil || kind != errs.NoReplicas && kind != errs.NoSpace {
		return err
	}
	found, known := errors.AsType[*lack](err)
	if !known && !r.returning(r.views.Newest(), tried) {
		return err
	}
	later := &errs.Error{Kind: errs.Unavailable, Op: "manager.Open", Text: "nodes that were there a moment ago may come back", Cause: err}
	if !known {
		return later
	}
	return &hemera.NotYet{Err: later, Await: func(ctx context.Context) error { return r.await(ctx, found) }}
}

// returning reports whether nodes may come back that are not there in a view.
func (r returns) returning(view *hemera.View, tried []hemera.NodeID) bool {
	now := r.now()
	return slices.ContainsFunc(view.Nodes, func(n hemera.NodeInfo) bool {
		since := n.Heartbeat
		if since.IsZero() {
			// No heartbeat since this manager started: the node may have been online until then.
			since = r.started
		}
		// A node that an admin switched off is not waited for. One that is about to stop is: it restarts, most often.
		return n.Enabled && (n.Status == hemera.NodeOffline || n.Stopping) && now.Sub(since) <= returnTime && !slices.Contains(tried, n.ID)
	})
}

// gathering returns until when new files wait for all of their disks; zero if they do not, as all nodes have come or had the time to.
func (r returns) gathering(view *hemera.View, tried []hemera.NodeID) time.Time {
	until := r.started.Add(gatherTime)
	missing := func(n hemera.NodeInfo) bool {
		return n.Enabled && n.Status == hemera.NodeOffline && n.Heartbeat.IsZero() && !slices.Contains(tried, n.ID)
	}
	if !r.now().Before(until) || !slices.ContainsFunc(view.Nodes, missing) {
		return time.Time{}
	}
	return until
}

// gather fails with NoSpace if a new content has too few disks, and new files wait for all of them now. refused is what the choice of disks
// failed with, or nil.
func (r returns) gather(view *hemera.View, c *hemera.Capability, l hemera.Layout, tried []hemera.NodeID, refused error) error {
	wanted := int(l.Pieces)
	switch {
	case refused == nil && len(c.Targets) >= wanted, refused != nil && errs.KindOf(refused) != errs.NoSpace:
		return nil
	}
	until := r.gathering(view, tried)
	if until.IsZero() {
		return nil
	}
	if refused == nil {
		refused = errs.New(errs.NoSpace, "place.Choose", "space "+string(c.Space), fmt.Sprintf("%d of its disks are there, and layout %s takes %d", len(c.Targets), l, wanted))
	}
	return &lack{error: refused, version: view.Version, tried: tried, enough: hasDisks(c.Space, wanted, tried), until: until}
}

// await blocks until a newer view may have enough disks, no more are to come, or fewer are enough.
func (r returns) await(ctx context.Context, found *lack) error {
	var fewer <-chan time.Time // never, if there is no such time
	if !found.until.IsZero() {
		timer := time.NewTimer(found.until.Sub(r.now()))
		defer timer.Stop()
		fewer = timer.C
	}
	for {
		view, replaced := r.views.Watch()
		if view.Version > found.version && (found.enough(view) || r.all(view, found)) {
			return nil
		}
		select {
		case <-replaced:
		case <-fewer:
			return nil
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "manager.Open", "")
		}
	}
}

// all reports whether a view has all disks that an open waits for.
func (r returns) all(view *hemera.View, found *lack) bool {
	return !r.returning(view, found.tried) || !found.until.IsZero() && r.gathering(view, found.tried).IsZero()
}

// current fails as [cluster.Marks.Current] does. While that is not decided yet, the error is a [hemera.NotYet].
func current(m *cluster.Marks) error {
	deciding := m.Deciding() // before the look: it may be decided in between, and then there is nothing to wait for
	err := m.Current()
	if err == nil || !deciding {
		return err
	}
	return &hemera.NotYet{Err: err, Await: func(ctx context.Context) error {
		_ = m.AwaitNewest(ctx) // the next open hears what was decided
		return errs.Wrap(ctx.Err(), "manager.Open", "")
	}}
}

// makeRoom turns NoSpace into Unavailable where content that is held for readers is in the way, and has it go: the
// client waits and asks again.
func (o *opener) makeRoom(ctx context.Context, view *hemera.View, c *hemera.Capability, noSpace error) error {
	// Disks that would take the write but for room. A full one counts: its held pieces may be what fills it.
	disks := slices.DeleteFunc(slices.Clone(view.Disks), func(d hemera.Disk) bool {
		return d.Space != c.Space || !d.Active || d.Config != hemera.ConfigRW || d.Health != hemera.HealthOK && d.Health != hemera.HealthFull
	})
	found, err := o.engine.MakeRoom(ctx, disks, max(layout.PieceMax(c.Layout, c.Size), 1)) // on each of them
	// The client hears of the lack of room, which is true, and not of an error of the attempt to make some.
	if err != nil || !found {
		return noSpace
	}
	return &errs.Error{Kind: errs.Unavailable, Op: "manager.Open", Subject: c.Path, Text: "replaced content that was kept for readers makes room", Cause: noSpace}
}

// unknownYet turns NotFound into Unavailable while the namespace is being rebuilt, and while it is not known to be the one that the
// nodes know: what is not there may still be found, and a client that hears "no such file" may write it again, or forget it.
// Admins are told what there is.
func unknownYet(c *cluster.Cluster, who hemera.Identity, err error) error {
	if !errors.Is(err, errs.NotFound) || who.Admin {
		return err
	}
	// Its kind is that of the cause, and never NotFound.
	return cmp.Or(current(c.Marks), err)
}
