package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/test/sim/simdisk"
	"hemera/words/hemera"
)

// plant is the state of a piece that is put where a copy of it may be made later.
type plant int

// What a piece of the right name may be like. All but plantStale have a footer that says what the namespace does.
const (
	plantDamaged plant = iota // one bit is not what was written
	plantHole                 // its end was never written
	plantOther                // other bytes of the same number, whose page checksums are theirs
	plantShort                // the first part of the content
	plantStale                // another content, with its footer
	plantWhole                // nothing is wrong with it
	plants                    // number of kinds
)

// String names a plant in the trace.
func (p plant) String() string {
	return [...]string{"damaged", "a hole", "other bytes", "short", "stale", "whole"}[p]
}

// planter is the part of the nemesis that puts pieces where no piece belongs.
// It writes past the node's process, straight to the disk, as a copied or returned disk would.
type planter struct{ nemesis *nemesis }

// plant puts pieces of files on disks that have none of them, as moves that were cut off and copies of disks leave
// them behind: where a move goes there later, it must not be done because of them.
// The manager is asked for nothing: to it the pieces are strays.
func (pl planter) plant(ctx context.Context) {
	h := pl.nemesis.w.head.Load()
	if h == nil {
		return
	}
	files, _, err := pl.nemesis.w.tree(ctx)
	if err != nil {
		return
	}
	disks, names := h.Cluster.View().Disks, slices.Sorted(maps.Keys(files))
	for range min(len(names), 1+pl.nemesis.rng.IntN(8)) {
		name := names[pl.nemesis.rng.IntN(len(names))]
		e, at := files[name], disks[pl.nemesis.rng.IntN(len(disks))]
		// An empty file has no pieces. A disk with a piece of the file needs none.
		if len(e.Pieces) == 0 || slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return p.Disk == at.ID }) {
			continue
		}
		// Any index: a copy of another piece of the file is as wrong as other bytes.
		piece := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: uint8(pl.nemesis.rng.IntN(int(e.Layout.Pieces)))}
		how := plant(pl.nemesis.rng.IntN(int(plants)))
		if d := pl.nemesis.w.drive(at); how == plantOther && (pl.nemesis.w.victim(d) || d.hasServed(piece) || e.Layout.Coded() && (pl.nemesis.w.plan.cruel || pl.nemesis.w.plan.stale)) {
			// No read could tell the bytes from the right ones. A drive that lies may take back what replaced them, and a
			// reader whose grant is older than the piece's move from here comes for them. Of a coded file the checksum of the
			// file does not show it either, when an audit finds the piece where another is gone.
			how = plantStale
		}
		if p := pl.content(&e, piece.Index, disks); len(p) > 0 {
			pl.nemesis.did("plants a piece that is %s of %s: %s on disk %d: %v", how, name, piece, at.ID, pl.nemesis.w.drive(at).plant(pl.nemesis.rng, piece, how, &e, p))
		}
	}
}

// plantWrite puts some bytes where a write that is under way wants a piece of its own.
// The head must start the piece over, and never mistake the bytes for its own.
func (pl planter) plantWrite(ctx context.Context) {
	g, ok := pl.nemesis.w.overheard.one(pl.nemesis.rng)
	if !ok || g.Permit.Access == hemera.AccessRead || len(g.Permit.Targets) == 0 {
		return
	}
	t := g.Permit.Targets[pl.nemesis.rng.IntN(len(g.Permit.Targets))]
	h := pl.nemesis.w.head.Load()
	if h == nil {
		return
	}
	at, ok := h.Cluster.View().Disk(t.Disk)
	if !ok {
		return
	}
	piece := hemera.PieceID{File: g.Permit.File, Gen: g.Permit.Gen, Index: t.Index}
	if e, _, err := h.tree.Inspection.Resolve(ctx, piece.File); err == nil && e.Gen == piece.Gen {
		return // it has been committed, and that the disk has no such piece may be a loss
	}
	e := hemera.Entry{Layout: g.Permit.Layout, Size: 100}
	pl.nemesis.did("plants a piece of a write of %s: %s on disk %d: %v", g.Permit.Path, piece, at.ID,
		pl.nemesis.w.drive(at).plant(pl.nemesis.rng, piece, plantStale, &e, make([]byte, 100)))
}

// content returns the bytes that a piece of a file should hold, read from drives that have them; nil if they do not. A drive that took back writes
// may have a stale piece in the right place: its bytes below a footer that is right would be plantOther.
func (pl planter) content(e *hemera.Entry, index uint8, disks []hemera.Disk) []byte {
	have := map[uint8][]byte{}
	for _, p := range e.Pieces {
		i := slices.IndexFunc(disks, func(d hemera.Disk) bool { return d.ID == p.Disk })
		if i < 0 {
			continue
		}
		id := hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index}
		b, err := pl.nemesis.w.drive(disks[i]).pieceBytes(id)
		if err != nil || !pl.nemesis.w.drive(disks[i]).agrees(id, e.Checksums) {
			continue
		}
		if p.Index == index || !e.Layout.Coded() {
			return b
		}
		have[p.Index] = b
	}
	data := simdisk.Joined(e.Layout, e.Size, have)
	if int64(len(data)) != e.Size {
		return nil
	}
	pieces, err := simdisk.Cut(e.Layout, data)
	if err != nil {
		return nil
	}
	return pieces[index]
}

// agrees reports whether the footer of a piece says of its file what the namespace does.
func (d *drive) agrees(id hemera.PieceID, sums []hemera.Checksum) bool {
	r, err := d.store.Load().Disk.Open(id)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	return !slices.ContainsFunc(r.Stat().Checksums, func(c hemera.Checksum) bool {
		want, known := hemera.FindChecksum(sums, c.Kind)
		return known && want != c
	})
}

// plant makes a piece of the file's, with the content p changed or not, and does it harm.
// It fails if the disk has a piece of that name already.
func (d *drive) plant(rng *rand.Rand, id hemera.PieceID, how plant, e *hemera.Entry, p []byte) error {
	s := d.store.Load()
	seal := hemera.SealInfo{FileSize: e.Size, Checksums: e.Checksums, Sync: true}
	p = slices.Clone(p)
	switch how {
	case plantOther:
		p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
	case plantShort:
		p = p[:rng.IntN(len(p))]
	case plantStale:
		// Other content, with a footer that agrees with it: only the namespace tells the difference.
		p[0]++
		seal.Checksums = slices.Clone(seal.Checksums)
		for i := range seal.Checksums {
			seal.Checksums[i].Value[0]++
		}
	}
	// A node seals no bytes but those that their writer sent: these are its own.
	seal.Piece = hemera.Checksum{Kind: hemera.CRC32C}
	binary.BigEndian.PutUint32(seal.Piece.Value[:], checksum.CRC32C(p))
	// As a copy of the file's has it: a rebuild of the namespace finds the owner nowhere else.
	owner := &hemera.FileOwner{UID: e.UID, GID: e.GID, Mode: e.Mode}
	w, err := s.Disk.Create(id, disk.CreateOptions{Layout: e.Layout, Owner: owner})
	if err != nil {
		return err
	}
	err = w.WritePages(p, nil, 0)
	if err == nil {
		err = d.harm(rng, id, how, len(p))
	}
	if err != nil {
		_ = w.Abort()
		return err
	}
	_, err = w.Seal(seal)
	return err
}

// harm changes a pending piece of the given size. A sealed one might be another's by now.
func (d *drive) harm(rng *rand.Rand, id hemera.PieceID, how plant, size int) error {
	if how != plantDamaged && how != plantHole {
		return nil
	}
	name := d.path + "/pending/" + id.String()
	at := rng.Int64N(int64(size))
	if how == plantDamaged {
		return d.memory.Corrupt(name, at, 1<<rng.IntN(8))
	}
	// Cut off: what lay behind the end reads as a hole once the table says how long the piece is.
	f, err := d.memory.Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(at), f.Close())
}

// act plants some pieces once, unless the manager works over an older store.
func (pl planter) act(ctx context.Context) {
	if pl.nemesis.w.keeper.stale.Load() != nil {
		return // the manager knows less than there is
	}
	pl.plant(ctx)
	if pl.nemesis.rng.IntN(4) == 0 {
		pl.plantWrite(ctx)
	}
}

// believed holds results of copies that a sabotaged node reports without having made them: a footer was there.
type believed struct {
	mu   sync.Mutex
	done []hemera.OrderResult
}

// take returns the results to report, and forgets them.
func (b *believed) take() []hemera.OrderResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := b.done
	b.done = nil
	return done
}

// leave drops the orders that the node believes done, and returns the others.
func (b *believed) leave(w *world, orders []hemera.Order) []hemera.Order {
	return slices.DeleteFunc(orders, func(o hemera.Order) bool {
		h := w.head.Load()
		if o.Kind != hemera.OrderCopy || h == nil {
			return false
		}
		d, ok := h.Cluster.View().Disk(o.Disk)
		if !ok || w.drive(d).footer(o.Piece) != nil {
			return false
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done = append(b.done, hemera.OrderResult{ID: o.ID})
		return true
	})
}

// footer returns nil if the drive has a piece with a valid footer, whatever its content.
func (d *drive) footer(id hemera.PieceID) error {
	r, err := d.store.Load().Disk.Open(id)
	if err == nil {
		err = r.Close()
	}
	return err
}
