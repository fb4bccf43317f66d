package namespace_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/anishathalye/porcupine"

	"hemera/namespace"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// recorder keeps what was asked and answered, and when, by a clock that only counts.
type recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	calls []porcupine.Operation
	wrong []string
}

// mistake records what needs no order to be wrong.
func (h *recorder) mistake(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
}

func (h *recorder) add(client int, from int64, c seqCall, r seqReply) {
	o := porcupine.Operation{ClientId: client, Call: from, Return: h.clock.Add(1), Input: c, Output: r}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.kind == errs.Cancelled || r.unknown && !seqChanges(c.verb): // promises nothing
		return
	case r.unknown:
		o.Return = math.MaxInt64
	case r.kind == errs.Internal || r.kind == errs.Corrupt || r.kind == errs.IO || r.kind == errs.Fenced:
		h.wrong = append(h.wrong, fmt.Sprintf("%v -> %v", c, r))
	}
	h.calls = append(h.calls, o)
}

// lost forgets what was answered after an instant, because the power went then: readers did not hear
// anything, and nobody knows what became of the changes. Calls that began after the second instant
// have not been made.
func (h *recorder) lost(before, after int64) {
	kept := h.calls[:0]
	for _, o := range h.calls {
		if o.Return > before && o.Return != math.MaxInt64 {
			if o.Call > after || !seqChanges(o.Input.(seqCall).verb) {
				continue
			}
			o.Return, o.Output = math.MaxInt64, seqReply{unknown: true}
		}
		if o.Call <= after {
			kept = append(kept, o)
		}
	}
	h.calls = kept
}

// witness has the event log say which changes happened, and in which order: of those that were not
// answered it is the only one to know.
func (h *recorder) witness(events []hemera.Event) {
	by := map[string]hemera.Event{}
	for _, e := range slices.Backward(events) {
		by[e.Who] = e
	}
	kept := h.calls[:0]
	for _, o := range h.calls {
		c, r := o.Input.(seqCall), o.Output.(seqReply)
		e, there := by[c.who]
		switch {
		case !seqChanges(c.verb) || c.verb == "forget":
		case r.unknown && !there:
			continue
		case r.unknown:
			r = seqReply{kind: ok, entry: hemera.Entry{ID: e.File}, event: int(e.Seq)}
		case there:
			r.event = int(e.Seq)
		}
		o.Output = r
		kept = append(kept, o)
	}
	h.calls = kept
}

// client is one of the concurrent callers.
type client struct {
	h    *recorder
	n    namespace.Parts
	r    *rand.Rand
	id   int
	ctx  context.Context
	seen []hemera.FileID
	late []namespace.Commit  // may be asked for again
	deaf []hemera.PieceID    // contents of whose commit an answer was not heard
	gone [4][]hemera.PieceID // by disk, as last listed

	alone bool // and no call is canceled
}

// name returns a name that no other call has.
func (c *client) name() string { return fmt.Sprintf("call %d", c.h.clock.Add(1)) }

func named(who string) hemera.Identity {
	out := system()
	out.Name = who
	return out
}

// path returns one to three names out of few, so that clients meet.
func (c *client) path() string {
	p := "/"
	for range 1 + c.r.IntN(5)/2 {
		p = path.Join(p, string(rune('a'+c.r.IntN(3))))
	}
	return p
}

// ask records one call. do fills the reply.
func (c *client) ask(call seqCall, do func(ctx context.Context, r *seqReply) error) seqReply {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if !c.alone && c.r.IntN(20) == 0 {
		go cancel()
	}
	relaxed := !c.alone && c.r.IntN(20) == 0
	if relaxed {
		ctx = namespace.Relaxed(ctx)
	}
	from := c.h.clock.Add(1)
	r := seqReply{kind: ok}
	if err := do(ctx, &r); err != nil {
		r = seqReply{kind: errs.KindOf(err)}
		r.unknown = r.kind == errs.Timeout || r.kind == errs.Unavailable
	}
	r.unknown = r.unknown || relaxed // a power cut may take it back; who saw it was not told before
	c.h.add(c.id, from, call, r)
	return r
}

func (c *client) step() {
	switch c.r.IntN(31) {
	case 0, 1, 2, 3:
		c.stat()
	case 4, 5, 6:
		c.list()
	case 7, 8, 9:
		call := seqCall{verb: "mkdir", path: c.path(), who: c.name()}
		r := c.ask(call, func(ctx context.Context, r *seqReply) (err error) {
			r.entry, err = c.n.Mkdir(ctx, named(call.who), call.path, 0o755, false)
			return err
		})
		c.seen = append(c.seen, r.entry.ID)
	case 10, 11, 12, 13, 14:
		c.write()
	case 15, 16, 17:
		call := seqCall{verb: "rename", who: c.name(), path: c.path(), to: c.path()}
		c.ask(call, func(ctx context.Context, _ *seqReply) error {
			return c.n.Rename(ctx, named(call.who), call.path, call.to)
		})
	case 18, 19:
		call := seqCall{verb: "remove", who: c.name(), path: c.path(), kind: hemera.EntryKind(c.r.IntN(3))}
		c.ask(call, func(ctx context.Context, _ *seqReply) error {
			return c.n.Remove(ctx, named(call.who), call.path, call.kind)
		})
	case 20:
		call := seqCall{verb: "chown", who: c.name(), path: c.path(), uid: c.r.Uint32N(3)}
		c.ask(call, func(ctx context.Context, _ *seqReply) error {
			return c.n.SetOwner(ctx, named(call.who), call.path, int64(call.uid), -1)
		})
	case 21:
		call := seqCall{verb: "setattr", who: c.name(), path: c.path(), value: fmt.Sprint(c.r.IntN(9))}
		c.ask(call, func(ctx context.Context, _ *seqReply) error {
			return c.n.SetXattr(ctx, named(call.who), call.path, "user.a", []byte(call.value), false)
		})
	case 22:
		c.resolve()
	case 23:
		call := seqCall{verb: "usage", disk: hemera.DiskID(1 + c.r.IntN(3))}
		c.ask(call, func(ctx context.Context, r *seqReply) (err error) {
			r.numbers[0], r.numbers[1], err = c.n.DiskUsage(ctx, call.disk)
			return err
		})
	case 24:
		c.unlinked()
	case 25:
		c.quota()
	case 26, 27, 28:
		c.unbin()
	default:
		c.ask(seqCall{verb: "events"}, func(ctx context.Context, r *seqReply) error {
			all, err := c.n.Events(ctx, 0, 10_000)
			r.numbers[0] = int64(len(all))
			return err
		})
	}
}

// quota sets or removes one limit, which is too high to be in anybody's way: what is counted for it is
// what matters.
func (c *client) quota() {
	key := hemera.QuotaKey{Path: c.path(), Kind: hemera.QuotaUser, ID: 1}
	if c.r.IntN(2) == 0 {
		key.Path = "/"
	}
	if c.r.IntN(3) == 0 {
		call := seqCall{verb: "rmquota", who: c.name(), path: key.Path}
		c.ask(call, func(ctx context.Context, _ *seqReply) error { return c.n.RemoveQuota(ctx, named(call.who), key) })
		return
	}
	call := seqCall{verb: "setquota", who: c.name(), path: key.Path}
	c.ask(call, func(ctx context.Context, _ *seqReply) error {
		return c.n.SetQuota(ctx, named(call.who), key, hemera.QuotaAmount{Files: 1_000_000})
	})
}

func (c *client) stat() {
	call := seqCall{verb: "stat", path: c.path()}
	if c.r.IntN(4) == 0 {
		call.path = "/" // whose totals change with everything
	}
	r := c.ask(call, func(ctx context.Context, r *seqReply) (err error) {
		r.entry, err = c.n.Stat(ctx, system(), call.path)
		return err
	})
	c.seen = append(c.seen, r.entry.ID)
}

// list makes two calls to the model: the path was a directory at some time, and at some time the directory (whose id is
// that of the entries' parent) had these entries. In between it may have been renamed.
func (c *client) list() {
	call := seqCall{verb: "isdir", path: c.path()}
	if c.r.IntN(2) == 0 {
		call.path = "/"
	}
	var entries []hemera.Entry
	from := c.h.clock.Add(1)
	r := c.ask(call, func(ctx context.Context, _ *seqReply) error {
		return c.n.List(ctx, system(), call.path, func(e hemera.Entry) error { entries = append(entries, e); return nil })
	})
	dir := hemera.RootID
	if call.path != "/" {
		if len(entries) == 0 {
			return
		}
		dir = entries[0].Parent
	}
	if r.kind == ok && !r.unknown {
		c.h.add(c.id, from, seqCall{verb: "children", id: dir}, seqReply{kind: ok, names: entryIDs(entries)})
	}
}

// write prepares a content and commits it, sometimes by force, sometimes again later on.
func (c *client) write() {
	if len(c.late) > 0 && c.r.IntN(5) == 0 {
		c.commit(c.late[c.r.IntN(len(c.late))])
		return
	}
	call := seqCall{verb: "prepare", path: c.path()}
	var p namespace.Prepared
	r := c.ask(call, func(ctx context.Context, r *seqReply) (err error) {
		p, err = c.n.Prepare(ctx, system(), hemera.OpenRequest{Path: call.path, Access: hemera.AccessCreate, Mode: 0o644})
		if p.Existing {
			r.entry = p.Entry
		}
		r.entry.Parent = p.Parent.ID
		return err
	})
	if r.kind != ok {
		return
	}
	m := commitOf(p, call.path, system())
	first := hemera.DiskID(c.r.IntN(3))
	m.Pieces = []hemera.Piece{{Index: 0, Disk: 1 + first}, {Index: 1, Disk: 1 + (first+1)%3}}
	m.Size, m.Force = 1+c.r.Int64N(100), c.r.IntN(3) == 0
	c.commit(m)
}

func (c *client) commit(m namespace.Commit) {
	m.Who = c.name()
	content := hemera.PieceID{File: m.ID, Gen: m.Gen}
	r := c.ask(seqCall{verb: "commit", who: m.Who, commit: m, again: slices.Contains(c.deaf, content)}, func(ctx context.Context, r *seqReply) (err error) {
		r.entry, err = c.n.Commit(ctx, m)
		return err
	})
	if r.unknown {
		c.deaf = append(c.deaf, content)
	}
	if r.kind == ok || r.unknown {
		c.late, c.seen = append(c.late, m), append(c.seen, m.ID)
	}
}

func (c *client) resolve() {
	c.seen = slices.DeleteFunc(c.seen, func(id hemera.FileID) bool { return id == 0 })
	if len(c.seen) == 0 {
		return
	}
	call := seqCall{verb: "resolve", id: c.seen[c.r.IntN(len(c.seen))]}
	c.ask(call, func(ctx context.Context, r *seqReply) (err error) {
		_, r.path, err = c.n.Resolve(ctx, call.id)
		return err
	})
}

// keepRemoved has the namespace keep what is removed or replaced.
func keepRemoved(n *namespace.Namespace, on bool) {
	if on {
		follow(n, "1d")
	}
}

// unbin restores or purges a file that may be in a bin.
func (c *client) unbin() {
	c.seen = slices.DeleteFunc(c.seen, func(id hemera.FileID) bool { return id == 0 || id == hemera.RootID })
	if len(c.seen) == 0 {
		return
	}
	call := seqCall{verb: "purge", who: c.name(), id: c.seen[c.r.IntN(len(c.seen))]}
	if c.r.IntN(4) > 0 {
		call.verb, call.to = "restore", c.path()
	}
	c.ask(call, func(ctx context.Context, _ *seqReply) error {
		if call.verb == "purge" {
			return c.n.Purge(ctx, named(call.who), call.id)
		}
		_, err := c.n.Restore(ctx, named(call.who), adminapi.RestoreRequest{ID: call.id, To: call.to})
		return err
	})
}

func (c *client) unlinked() {
	disk := hemera.DiskID(1 + c.r.IntN(3))
	if c.r.IntN(3) == 0 {
		call := seqCall{verb: "forget", disk: disk, pieces: c.gone[disk]}
		c.ask(call, func(ctx context.Context, _ *seqReply) error { return c.n.ConfirmRemoved(ctx, disk, call.pieces) })
		return
	}
	r := c.ask(seqCall{verb: "unlinked", disk: disk}, func(ctx context.Context, r *seqReply) (err error) {
		r.unlinked, err = c.n.Unlinked(ctx, disk, 10_000)
		return err
	})
	c.gone[disk] = r.unlinked
}
