package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

var alice = hemera.Identity{Name: "alice", UID: 1000, GID: 100, Protocol: "unix", Host: "laptop"}

var bob = hemera.Identity{Name: "bob", UID: 1001, GID: 100, Protocol: "unix", Host: "laptop"}

// rig is a manager over a store that outlives it, and nodes that keep pieces in memory.
type rig struct {
	t     testing.TB
	store kv.Store
	m     *Manager
	nodes []*fakeNode
	lost  time.Duration   // Options.LostAfter
	hold  time.Duration   // of replaced and removed content
	slow  *slowWriter     // writes the cluster's records; nil: the store's writer does
	ctx   context.Context // of what start started
}

func newRig(t *testing.T, nodes, disks int) *rig {
	t.Helper()
	r := &rig{t: t, store: memkv.New(), lost: 20 * time.Second}
	r.restart()
	r.addNodes(nodes, disks)
	return r
}

// addNodes registers nodes with so many disks each.
func (r *rig) addNodes(nodes, disks int) {
	for i := range nodes {
		n := &fakeNode{rig: r, addr: fmt.Sprintf("node%d:1095", i+1), pieces: map[hemera.DiskID]map[hemera.PieceID]hemera.PieceStat{}}
		for d := range disks {
			n.disks = append(n.disks, hemera.NodeDisk{
				UUID: fmt.Sprintf("uuid-%d-%d", i, d), Path: fmt.Sprintf("/disk%d", d),
				Health: hemera.HealthOK, DiskStats: hemera.DiskStats{Capacity: 1 << 40, Free: 1 << 39},
			})
		}
		r.nodes = append(r.nodes, n)
		n.register()
	}
}

// restart makes a new manager over the same store, as after kill -9.
func (r *rig) restart() {
	r.t.Helper()
	tree, err := namespace.Open(r.t.Context(), r.store, namespace.Options{CacheBytes: 1 << 20, Hold: r.hold})
	if err != nil {
		r.t.Fatal(err)
	}
	writer := tree.Writer()
	if r.slow != nil {
		r.slow.Writer = writer
		writer = r.slow
	}
	r.m, err = New(r.t.Context(), Options{
		Store: r.store, Writer: writer, Tree: tree.Parts(), Addr: "manager:1094", LostAfter: r.lost,
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// grants permits conversions and recalls.
func (r *rig) grants() *grants {
	o := r.m.Files.opener
	return &grants{tree: r.m.tree, cluster: r.m.Cluster, pending: o.pending, heads: r.m.Control.heads, placer: o.placer, reader: o.reader, nonces: o.nonces, ops: o.ops, now: o.now}
}

func (r *rig) node(id hemera.NodeID) *fakeNode {
	for _, n := range r.nodes {
		if n.id == id {
			return n
		}
	}
	r.t.Fatalf("no node %d", id)
	return nil
}

// seal puts the capability's pieces on their disks and says what a head would.
func (r *rig) seal(g hemera.Grant, size int64) hemera.CommitRequest {
	sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 0, byte(size >> 8), byte(size)})
	req := hemera.CommitRequest{Permit: shown(g), Size: size, Checksums: []hemera.Checksum{sum}, Mtime: time.Now()}
	if size == 0 {
		return req
	}
	for _, t := range g.Permit.Targets {
		id := hemera.PieceID{File: g.Permit.File, Gen: g.Permit.Gen, Index: t.Index}
		r.node(t.Node).put(t.Disk, hemera.PieceStat{ID: id, Size: size, FileSize: size, Layout: g.Permit.Layout, Checksums: req.Checksums, Sealed: time.Now()})
		req.Pieces = append(req.Pieces, hemera.Piece{Index: t.Index, Disk: t.Disk})
	}
	return req
}

// commit commits and returns what the namespace has of the file then.
func (r *rig) commit(req hemera.CommitRequest) (hemera.Entry, error) {
	p, err := r.m.Control.verifyWrite(r.t.Context(), "commit", req.Permit)
	if err != nil {
		return hemera.Entry{}, err
	}
	if _, err := r.m.Control.Commit(r.t.Context(), req); err != nil {
		return hemera.Entry{}, err
	}
	e, _, err := r.m.Control.Resolve(r.t.Context(), p.File)
	return e, err
}

// write stores a whole file.
func (r *rig) write(path string, size int64) hemera.Entry {
	r.t.Helper()
	g, err := r.m.Files.Open(r.t.Context(), alice, hemera.OpenRequest{Path: path, Access: hemera.AccessCreate, Parents: true, Mode: 0o644, Size: size})
	if err != nil {
		r.t.Fatal(err)
	}
	e, err := r.commit(r.seal(g, size))
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func (r *rig) open(path string, access hemera.Access, change ...func(*hemera.OpenRequest)) (hemera.Grant, error) {
	req := hemera.OpenRequest{Path: path, Access: access, Mode: 0o644}
	for _, f := range change {
		f(&req)
	}
	g, err := r.m.Files.Open(r.t.Context(), alice, req)
	if err == nil {
		shown(g) // it is signed with the key of now
	}
	return g, err
}

// shown returns the grant's permit as another process shows it.
func shown(g hemera.Grant) *hemera.Permit { return hemera.ParsePermit(tokenOf(g)) }

func tokenOf(g hemera.Grant) string {
	token, err := g.Permit.Token()
	if err != nil {
		panic(err)
	}
	return token
}

func (r *rig) mustOpen(path string, access hemera.Access, change ...func(*hemera.OpenRequest)) hemera.Grant {
	r.t.Helper()
	g, err := r.open(path, access, change...)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

func wantKind(t testing.TB, err error, kind errs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want kind %q", err, kind)
	}
}

// fakeNode is a storage node whose pieces are only descriptions. It executes orders for real: a copy
// fails unless a source has the piece.
type fakeNode struct {
	rig  *rig
	addr string
	stop context.CancelFunc

	id     hemera.NodeID
	epoch  hemera.Epoch
	mu     sync.Mutex
	disks  []hemera.NodeDisk
	pieces map[hemera.DiskID]map[hemera.PieceID]hemera.PieceStat
	// failCopies makes that many copies fail.
	failCopies int
	copies     int
	spoils     bool                         // its conversions have another content than the file
	badPages   int64                        // that verifying finds, until a repair
	ruined     map[hemera.PieceID]bool      // pieces none of whose bytes are right, and that only a copy of another mends
	network    func() *hemera.NetworkSample // nil: it samples nothing
	open       []hemera.OpenFile            // that clients have at it; set before it runs
	left       []hemera.WriteInfo           // that clients have left at it; set before it runs
}

func (n *fakeNode) register() {
	n.rig.t.Helper()
	w, err := n.rig.m.Control.Register(n.rig.t.Context(), hemera.NodeHello{ID: n.id, Addr: n.addr, Disks: n.disks})
	if err != nil {
		n.rig.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.id, n.epoch = w.ID, w.Epoch
	for i := range n.disks {
		n.disks[i].ID = w.DiskIDs[n.disks[i].UUID]
		if n.pieces[n.disks[i].ID] == nil {
			n.pieces[n.disks[i].ID] = map[hemera.PieceID]hemera.PieceStat{}
		}
	}
}

// lease returns the node's lease now: it may register while it runs.
func (n *fakeNode) lease() (hemera.NodeID, hemera.Epoch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id, n.epoch
}

func (n *fakeNode) put(d hemera.DiskID, s hemera.PieceStat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pieces[d][s.ID] = s
}

func (n *fakeNode) get(d hemera.DiskID, id hemera.PieceID) (hemera.PieceStat, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.pieces[d][id]
	return s, ok
}

func (n *fakeNode) drop(d hemera.DiskID, id hemera.PieceID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.pieces[d], id)
}

func (n *fakeNode) count(d hemera.DiskID) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pieces[d])
}

// run heartbeats and executes orders until the context ends.
func (n *fakeNode) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for ctx.Err() == nil {
			id, epoch := n.lease()
			_, _ = n.rig.m.Control.Heartbeat(ctx, id, epoch, hemera.NodeReport{Disks: n.reported(), Network: n.sample()})
			select {
			case <-ctx.Done():
			case <-time.After(hemera.HeartbeatInterval):
			}
		}
	})
	var results []hemera.OrderResult
	for ctx.Err() == nil {
		id, epoch := n.lease()
		reply, err := n.rig.m.Control.Exchange(ctx, id, epoch, results)
		results = nil
		if err != nil { // of a lease that register has just replaced
			select {
			case <-ctx.Done():
			case <-time.After(hemera.HeartbeatInterval):
			}
			continue
		}
		for _, o := range reply.Orders {
			results = append(results, n.execute(o))
		}
	}
}

// sample returns the node's report on its network; nil most times.
func (n *fakeNode) sample() *hemera.NetworkSample {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.network == nil {
		return nil
	}
	return n.network()
}

func (n *fakeNode) execute(o hemera.Order) hemera.OrderResult {
	fail := func(k errs.Kind, text string) hemera.OrderResult {
		return hemera.OrderResult{ID: o.ID, Failed: true, ErrKind: uint8(k), ErrText: text}
	}
	switch o.Kind {
	case hemera.OrderCopy:
		n.mu.Lock()
		n.copies++
		broken := n.failCopies > 0
		if broken {
			n.failCopies--
		}
		n.mu.Unlock()
		if broken {
			return fail(errs.IO, "the cable is loose")
		}
		for _, s := range o.Sources {
			id := o.Piece
			id.Index = s.Index
			if stat, ok := n.rig.node(s.Node).get(s.Disk, id); ok && !n.rig.node(s.Node).isRuined(id) {
				stat.ID, stat.Sealed = o.Piece, time.Now()
				n.put(o.Disk, stat)
				return hemera.OrderResult{ID: o.ID, Bytes: stat.Size}
			}
		}
		return fail(errs.NoReplicas, "no source has the piece")
	case hemera.OrderRemove:
		n.drop(o.Disk, o.Piece)
		return hemera.OrderResult{ID: o.ID}
	case hemera.OrderVerify:
		stat, ok := n.get(o.Disk, o.Piece)
		if !ok {
			return fail(errs.NotFound, "no such piece")
		}
		sums, bad := stat.Checksums, n.badPages
		if n.isRuined(o.Piece) {
			bad++
		}
		if o.Checksum == hemera.MD5 {
			sum, _ := hemera.MakeChecksum(hemera.MD5, make([]byte, 16))
			sums = append(slices.Clone(sums), sum)
		}
		return hemera.OrderResult{ID: o.ID, Pieces: []hemera.PieceStat{stat}, Checksums: sums, Bytes: stat.Size, BadPages: bad}
	case hemera.OrderConvert:
		return n.convert(o)
	case hemera.OrderUses:
		return hemera.OrderResult{ID: o.ID, Files: n.open}
	case hemera.OrderLeft:
		return hemera.OrderResult{ID: o.ID, Left: n.left}
	case hemera.OrderEndLeft: // every page of it differs, once it is counted
		return hemera.OrderResult{ID: o.ID, Left: []hemera.WriteInfo{{Differ: 7}}}
	case hemera.OrderInventory:
		return hemera.OrderResult{ID: o.ID, Pieces: n.inventory(o)}
	case hemera.OrderRepair:
		if _, ok := n.get(o.Disk, o.Piece); !ok || n.isRuined(o.Piece) {
			o.Kind = hemera.OrderCopy
			r := n.execute(o)
			n.ruin(o.Piece, r.Failed && n.isRuined(o.Piece))
			return r
		}
		n.badPages = 0
		return hemera.OrderResult{ID: o.ID}
	}
	return fail(errs.Unsupported, "unknown order")
}

func (n *fakeNode) isRuined(id hemera.PieceID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ruined[id]
}

func (n *fakeNode) ruin(id hemera.PieceID, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ruined == nil {
		n.ruined = map[hemera.PieceID]bool{}
	}
	n.ruined[id] = is
}

// setFree says how much room each disk has.
func (n *fakeNode) setFree(free int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disks = slices.Clone(n.disks)
	for i := range n.disks {
		n.disks[i].Free = free
	}
}

func (n *fakeNode) reported() []hemera.NodeDisk {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disks
}

func (n *fakeNode) inventory(o hemera.Order) (list []hemera.PieceStat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, s := range n.pieces[o.Disk] {
		if comparePieces(id, o.After) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b hemera.PieceStat) int { return comparePieces(a.ID, b.ID) })
	return list[:min(len(list), o.Limit)]
}

func comparePieces(a, b hemera.PieceID) int {
	return slices.Compare([]uint64{uint64(a.File), uint64(a.Gen), uint64(a.Index)}, []uint64{uint64(b.File), uint64(b.Gen), uint64(b.Index)})
}
