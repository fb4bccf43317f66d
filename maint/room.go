package maint

import (
	"context"
	"math"
	"net"
	"sync"
	"time"

	"hemera/words/hemera"
)

const (
	// heldShare is the part of what is free on a filesystem that held pieces may have there, one in so
	// many. Beyond that the oldest go before their time: nothing fails for lack of room because of them.
	// Held pieces have at most a quarter of the bytes that are free, so new files find the rest.
	heldShare = 4
	// heldMax bounds the pieces that a disk holds, and so their records in the manager's store.
	heldMax = 100_000
)

// due lists pieces that the disk is to remove now: those whose time is over or that never had any, else
// the oldest of those that it holds too many of.
func (r *remover) due(ctx context.Context, v *hemera.View, d hemera.Disk) (pieces []hemera.PieceID, holds bool, err error) {
	removals := r.base.Removals
	pieces, err = removals.Unlinked(ctx, d.ID, removeBatch)
	// Pieces whose time is over come first: they may make all the room that is wanted.
	if err != nil || len(pieces) > 0 {
		return pieces, false, err
	}
	held, bytes, err := removals.DiskHeld(ctx, d.ID)
	if err != nil || held == 0 {
		return nil, false, err
	}
	if n := max(surplus(v, d, held, bytes), portion(r.room.wanted(d.ID, r.base.Now())-d.Free, held, bytes)); n > 0 {
		pieces, err = removals.Held(ctx, d.ID, int(min(n, removeBatch)))
	}
	return pieces, true, err
}

// surplus returns about how many of its held pieces the disk removes before their time. A disk that is to become empty holds none.
func surplus(v *hemera.View, d hemera.Disk, held, bytes int64) int64 {
	if d.Config == hemera.ConfigDrain || d.Config == hemera.ConfigEmpty {
		return held
	}
	// The larger of two surpluses: too many records, or too many bytes.
	n := held - heldMax
	n = max(n, portion(bytes-d.Free/(heldShare*sharers(v, d)), held, bytes))
	return max(0, min(n, held))
}

// portion returns about how many of the held pieces have the wanted bytes. held pieces have so many bytes together.
func portion(wanted, held, bytes int64) int64 {
	if wanted <= 0 || bytes <= 0 {
		return 0
	}
	if wanted >= bytes {
		return held
	}
	// Sizes of single pieces are not asked for: the mean is good enough, and the next step sees what is still missing.
	return int64(math.Ceil(float64(wanted) / float64(bytes) * float64(held)))
}

// wishLifetime is the time for which a wish for room stands. Clients ask again every 5 s.
const wishLifetime = 30 * time.Second

// room has the bytes that opens want to be free on disks where held pieces are in the way.
type room struct {
	mu     sync.Mutex // guards wishes; nothing is called under it
	wishes map[hemera.DiskID]wish
}

// wish is the number of bytes that an open wants to be free on a disk, and the end of that wish.
type wish struct {
	bytes int64
	until time.Time
}

// wish notes that so many bytes shall be free on the disk. Disks are few, so the table is.
func (r *room) wish(id hemera.DiskID, bytes int64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wishes == nil {
		r.wishes = map[hemera.DiskID]wish{}
	}
	// The largest wish counts: opens that wait at the same time do not shrink each other's.
	if old := r.wishes[id]; now.Before(old.until) {
		bytes = max(bytes, old.bytes)
	}
	r.wishes[id] = wish{bytes, now.Add(wishLifetime)}
}

// wanted returns how many bytes shall be free on the disk.
func (r *room) wanted(id hemera.DiskID, now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.wishes[id]
	if ok && now.After(w.until) {
		delete(r.wishes, id)
		return 0
	}
	return w.bytes
}

// sharers counts the disks that share the room of d: folders of one filesystem of their host.
func sharers(v *hemera.View, d hemera.Disk) (n int64) {
	host := func(d hemera.Disk) string {
		node, _ := v.Node(d.Node)
		h, _, _ := net.SplitHostPort(node.Addr)
		return h
	}
	for _, o := range v.Disks {
		if o.ID == d.ID || d.Filesystem != 0 && o.Filesystem == d.Filesystem && host(o) == host(d) {
			n++
		}
	}
	return max(1, n)
}
