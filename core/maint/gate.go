package maint

import (
	"context"
	"errors"
	"sync"

	"hemera"
	"hemera/errs"
)

// gate bounds the copies under way to one disk and in total, and knows which they are.
type gate struct {
	perDisk, total int

	mu     sync.Mutex
	counts map[hemera.DiskID]int
	under  map[copyKey]bool
	files  map[hemera.FileID]bool // being relocated
	freed  chan struct{}          // closed when a copy ends
}

type copyKey struct {
	disk  hemera.DiskID
	piece hemera.PieceID
}

func newGate(perDisk, total int) *gate {
	return &gate{perDisk: perDisk, total: total, counts: map[hemera.DiskID]int{}, under: map[copyKey]bool{},
		files: map[hemera.FileID]bool{}, freed: make(chan struct{})}
}

// enter asks decide for a move until it finds one whose disk has room for another copy, and counts
// it. decide is told which disks are full now, and how many copies each disk has, which is its to read
// until it returns.
func (g *gate) enter(ctx context.Context, decide func(full []hemera.DiskID, counts map[hemera.DiskID]int) (move, error)) (move, error) {
	for {
		g.mu.Lock()
		wait := g.freed
		if len(g.under) < g.total {
			full := g.full()
			m, err := decide(full, g.counts)
			if err == nil {
				g.counts[m.add.Disk]++
				g.under[m.key()] = true
				g.mu.Unlock()
				return m, nil
			}
			if len(full) == 0 || !errors.Is(err, errs.NoSpace) {
				g.mu.Unlock()
				return m, err
			}
		}
		g.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return move{}, ctx.Err()
		}
	}
}

func (g *gate) full() (ids []hemera.DiskID) {
	for id, n := range g.counts {
		if n >= g.perDisk {
			ids = append(ids, id)
		}
	}
	return ids
}

func (g *gate) leave(m move) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.under, m.key())
	if g.counts[m.add.Disk]--; g.counts[m.add.Disk] <= 0 {
		delete(g.counts, m.add.Disk)
	}
	close(g.freed)
	g.freed = make(chan struct{})
}

// hold takes a file for one relocation, or for the removal of an orphan: two relocations at once could
// put two of its pieces on one disk.
func (g *gate) hold(id hemera.FileID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files[id] {
		return false
	}
	g.files[id] = true
	return true
}

// holds reports whether a piece of the file is being relocated.
func (g *gate) holds(id hemera.FileID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.files[id]
}

// busy is how many copies are under way, and how many disks take no more of them.
func (g *gate) busy() (copies, full int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.under), len(g.full())
}

func (g *gate) release(id hemera.FileID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.files, id)
}

func (m move) key() copyKey {
	return copyKey{m.add.Disk, hemera.PieceID{File: m.entry.ID, Gen: m.entry.Gen, Index: m.add.Index}}
}
