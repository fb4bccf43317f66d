package maint

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"hemera/maint/orders"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// miniature is a namespace, a cluster and nodes in memory: enough of them to run an engine. Copies take a second of the
// test's clock for each rate bytes.
type miniature struct {
	Findings
	Cluster
	t    *testing.T
	rate int64

	mu       sync.Mutex
	view     hemera.View
	files    map[hemera.FileID]hemera.Entry
	used     map[hemera.DiskID]int64
	unlinked map[hemera.DiskID]map[hemera.PieceID]int64
	copies   []hemera.Order         // in the order in which nodes began them
	bad      map[hemera.FileID]bool // no copy of them comes to its end
}

func newMiniature(t *testing.T) *miniature {
	return &miniature{t: t, rate: 1 << 20, files: map[hemera.FileID]hemera.Entry{}, used: map[hemera.DiskID]int64{},
		unlinked: map[hemera.DiskID]map[hemera.PieceID]int64{}}
}

// node adds a node with disks of the capacity.
func (m *miniature) node(zone string, capacities ...int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := hemera.NodeID(len(m.view.Nodes) + 1)
	m.view.Nodes = append(m.view.Nodes, hemera.NodeInfo{ID: id, Addr: fmt.Sprintf("n%d:1", id), Zone: zone, Status: hemera.NodeOnline, Enabled: true})
	for _, c := range capacities {
		m.view.Disks = append(m.view.Disks, hemera.Disk{ID: hemera.DiskID(len(m.view.Disks) + 1), Node: id, Zone: zone, Space: "default",
			Config: hemera.ConfigRW, Health: hemera.HealthOK, Active: true, DiskStats: hemera.DiskStats{Capacity: c, Free: c}})
	}
}

// file adds a file with pieces 0, 1, … on the disks; 0 is for a piece that is missing.
func (m *miniature) file(l hemera.Layout, size int64, disks ...hemera.DiskID) hemera.FileID {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := hemera.Entry{ID: hemera.FileID(len(m.files) + 1), Gen: 1, Kind: hemera.KindFile, Size: size, Space: "default", Layout: l, Name: "f"}
	for i, d := range disks {
		if d != 0 {
			e.Pieces = append(e.Pieces, hemera.Piece{Index: uint8(i), Disk: d})
			m.used[d] += layout.PieceSize(l, size, uint8(i))
		}
	}
	m.files[e.ID] = e
	return e.ID
}

// engine makes an engine with the miniature around it.
func (m *miniature) engine() *Engine { return New(m.options()) }

// options returns the options of an engine with the miniature around it.
func (m *miniature) options() Options {
	return Options{Files: m, Removals: m, Findings: m, Cluster: m, Orders: orders.New(), Signer: anySigner{}}
}

// serve runs a node until the test ends.
func (m *miniature) serve(ctx context.Context, q *orders.Dispatcher, id hemera.NodeID) {
	var results []hemera.OrderResult
	for ctx.Err() == nil {
		list, err := q.Exchange(ctx, id, results)
		if err != nil {
			return
		}
		results = nil
		var bytes int64
		for _, o := range list {
			n, err := m.execute(o)
			bytes += n
			r := hemera.OrderResult{ID: o.ID, Bytes: n}
			if err != nil {
				r.Failed, r.ErrKind, r.ErrText = true, uint8(errs.KindOf(err)), err.Error()
			}
			results = append(results, r)
		}
		time.Sleep(time.Duration(bytes) * time.Second / time.Duration(m.rate))
	}
}

// execute does one order at once.
func (m *miniature) execute(o hemera.Order) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := layout.PieceSize(m.files[o.Piece.File].Layout, m.files[o.Piece.File].Size, o.Piece.Index)
	d, _ := m.view.Disk(o.Disk)
	switch {
	case o.Kind == hemera.OrderRemove:
		return 0, nil
	case m.used[o.Disk]+size > d.Capacity:
		return 0, errs.New(errs.NoSpace, "node.Copy", "", "the disk is full")
	}
	m.copies = append(m.copies, o)
	if m.bad[o.Piece.File] {
		return 0, errs.New(errs.NoReplicas, "node.Copy", "", "no other piece has the bad page")
	}
	m.used[o.Disk] += size
	return size, nil
}

// View returns the view of this moment.
func (m *miniature) View() *hemera.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.view
	v.Disks, v.Nodes = slices.Clone(v.Disks), slices.Clone(v.Nodes)
	for i := range v.Disks {
		d := &v.Disks[i]
		d.Used = m.used[d.ID]
		d.Free = d.Capacity - d.Used
	}
	return &v
}

func (m *miniature) Removed() []hemera.DiskID { return nil }

func (m *miniature) Resolve(_ context.Context, id hemera.FileID) (hemera.Entry, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.files[id]
	if !ok {
		return e, "", errs.New(errs.NotFound, "Resolve", "", "no such file")
	}
	e.Pieces = slices.Clone(e.Pieces)
	return e, "/f", nil
}

func (m *miniature) MovePieces(_ context.Context, id hemera.FileID, _ hemera.Generation, drop, add []hemera.Piece) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.files[id]
	pieces := slices.Clone(e.Pieces)
	for _, p := range drop {
		i := slices.Index(pieces, p)
		if i < 0 {
			return errs.New(errs.Conflict, "MovePieces", "", "gone")
		}
		pieces = slices.Delete(pieces, i, i+1)
		if m.unlinked[p.Disk] == nil {
			m.unlinked[p.Disk] = map[hemera.PieceID]int64{}
		}
		m.unlinked[p.Disk][hemera.PieceID{File: id, Gen: e.Gen, Index: p.Index}] = layout.PieceSize(e.Layout, e.Size, p.Index)
	}
	pieces = append(pieces, add...)
	slices.SortFunc(pieces, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
	for i, p := range pieces {
		for _, o := range pieces[:i] {
			if o.Disk == p.Disk || o.Index == p.Index {
				m.t.Errorf("file %d would have %v", id, pieces)
			}
		}
	}
	if layout.Indexes(pieces).Len() < layout.Indexes(e.Pieces).Len() {
		m.t.Errorf("file %d lost a piece: %v, had %v", id, pieces, e.Pieces)
	}
	e.Pieces = pieces
	m.files[id] = e
	return nil
}

// page lists files by id.
func (m *miniature) page(after hemera.FileID, limit int, holds func(hemera.Entry) bool) (list []hemera.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := after + 1; int(id) <= len(m.files) && len(list) < limit; id++ {
		if e := m.files[id]; holds(e) {
			list = append(list, e)
		}
	}
	return list
}

func (m *miniature) DiskFiles(_ context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error) {
	return m.page(after, limit, func(e hemera.Entry) bool {
		return slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool { return p.Disk == disk })
	}), nil
}

func (m *miniature) Incomplete(_ context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error) {
	return m.page(after, limit, func(e hemera.Entry) bool { return len(layout.Missing(e.Layout, e.Size, e.Pieces)) > 0 }), nil
}

func (m *miniature) DiskUsage(_ context.Context, disk hemera.DiskID) (pieces, bytes int64, err error) {
	for _, e := range m.page(0, 1<<30, func(hemera.Entry) bool { return true }) {
		for _, p := range e.Pieces {
			if p.Disk == disk {
				pieces, bytes = pieces+1, bytes+layout.PieceSize(e.Layout, e.Size, p.Index)
			}
		}
	}
	return pieces, bytes, nil
}

func (m *miniature) Unlinked(_ context.Context, disk hemera.DiskID, limit int) (list []hemera.PieceID, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.unlinked[disk] {
		if len(list) < limit {
			list = append(list, p)
		}
	}
	return list, nil
}

func (m *miniature) ConfirmRemoved(_ context.Context, disk hemera.DiskID, pieces []hemera.PieceID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range pieces {
		m.used[disk] -= m.unlinked[disk][p]
		delete(m.unlinked[disk], p)
	}
	return nil
}

func (m *miniature) Held(context.Context, hemera.DiskID, int) ([]hemera.PieceID, error) {
	return nil, nil
}

func (m *miniature) DiskHeld(context.Context, hemera.DiskID) (pieces, bytes int64, err error) {
	return 0, 0, nil
}

func (m *miniature) IsUnlinked(_ context.Context, disk hemera.DiskID, p hemera.PieceID) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.unlinked[disk][p]
	return ok, nil
}

func (m *miniature) Survey(hemera.DiskID) hemera.DiskSurvey {
	return hemera.DiskSurvey{AuditDue: time.Now().Add(AuditInterval)}
}

func (m *miniature) Whole(context.Context, hemera.DiskID) error { return nil }

func (m *miniature) SetAudit(context.Context, hemera.DiskID, hemera.DiskSurvey) error { return nil }

func (m *miniature) SetEmpty(_ context.Context, id hemera.DiskID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.Disks[id-1].Config = hemera.ConfigEmpty
	return nil
}

func (m *miniature) BrokenPieces(context.Context, int) ([]hemera.BadPiece, error) { return nil, nil }

// anySigner signs everything. Copies use it at the same time, so it remembers nothing.
type anySigner struct{}

func (anySigner) MintFor(hemera.Capability, ...hemera.NodeID) (string, error) { return "token", nil }
