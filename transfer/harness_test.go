package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hemera/disk"
	"hemera/disk/bounded"
	"hemera/platform/vfs"
	"hemera/rules/layout"
	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/transfer/transfertest"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// bench is some hosts with one disk each, a manager that keeps its commits, and peers among them.
// Every disk and every way to a peer can be made to fail.
type bench struct {
	t       testing.TB
	hosts   []*host
	peers   *faultyPeers
	manager *manager
	nonce   uint64
	kinds   []hemera.ChecksumKind // of whole files; nil: one that is linear and one that is not
	layout  hemera.Layout         // of new files, if it is not the zero value; else replicas, as many as there are targets
}

// host is one node: id and disk id are its number from 1.
type host struct {
	bench   *bench
	id      hemera.NodeID
	disk    *faultyDisk
	host    *transfer.Host
	pending *transfer.Pending
}

func newBench(t testing.TB, hosts int) *bench {
	return makeBench(t, hosts, func() (vfs.FS, string) { return vfs.OS{}, t.TempDir() })
}

// newMemoryBench has disks in memory: for tests that make many.
func newMemoryBench(t testing.TB, hosts int) *bench {
	return makeBench(t, hosts, func() (vfs.FS, string) {
		m := vfs.NewMemory(64<<20, time.Now)
		if err := m.Mkdir("/disk"); err != nil {
			t.Fatal(err)
		}
		return m, "/disk"
	})
}

func makeBench(t testing.TB, hosts int, place func() (vfs.FS, string)) *bench {
	b := &bench{t: t, manager: &manager{grants: map[string]hemera.Capability{}, committed: map[hemera.PieceID]hemera.CommitRequest{}}}
	b.manager.bench = b
	b.peers = &faultyPeers{LocalPeers: transfertest.NewLocalPeers(), faults: map[string]*fault{}}
	for i := range hosts {
		h := &host{bench: b, id: hemera.NodeID(i + 1), disk: newDisk(t, place)}
		h.host = &transfer.Host{
			Node: piece.Node{
				Self: func() hemera.NodeID { return h.id },
				Disk: func(id hemera.DiskID) (disk.Store, bool) {
					return h.disk, id == hemera.DiskID(h.id) && !h.disk.gone
				},
				Peers: b.peers, Log: slog.New(slog.DiscardHandler), HeadProof: headProof,
			},
			Born:   func() hemera.Epoch { return 7 },
			Writes: transfer.Writes{Control: b.manager, Patience: 2 * time.Second},
		}
		h.host.Reads.Ahead.Max = 1 << 20
		h.pending = transfer.NewPending(h.host)
		b.hosts = append(b.hosts, h)
		b.peers.Add(addr(int(h.id)), h)
	}
	t.Cleanup(func() {
		for _, h := range b.hosts {
			h.pending.Settle(context.Background())
			h.host.Wait()
		}
	})
	return b
}

// noSmall has even short contents sent to their pieces at once.
func (b *bench) noSmall() {
	for _, h := range b.hosts {
		h.host.Writes.SmallBytes = -1
	}
}

func newDisk(t testing.TB, place func() (vfs.FS, string)) *faultyDisk {
	fsys, path := place()
	if _, err := disk.Format(fsys, path); err != nil {
		t.Fatal(err)
	}
	d, err := disk.Open(fsys, path, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store := bounded.New(d, slog.New(slog.DiscardHandler), nil)
	t.Cleanup(func() { _ = store.Close() })
	return &faultyDisk{Store: store, path: path, fs: fsys}
}

// scope is one of the many checks that rapid makes in a test: its cleanups run when it ends, and its failures are
// rapid's, which looks for the shortest history that fails so.
type scope struct {
	testing.TB
	check *rapid.T
	ends  []func()
}

// Fatal implements testing.TB.
func (s *scope) Fatal(args ...any) { s.check.Fatal(args...) }

// Fatalf implements testing.TB.
func (s *scope) Fatalf(format string, args ...any) { s.check.Fatalf(format, args...) }

// Errorf implements testing.TB.
func (s *scope) Errorf(format string, args ...any) { s.check.Errorf(format, args...) }

// Cleanup implements testing.TB.
func (s *scope) Cleanup(f func()) { s.ends = append(s.ends, f) }

// end runs the cleanups, the last first.
func (s *scope) end() {
	for len(s.ends) > 0 {
		last := s.ends[len(s.ends)-1]
		s.ends = s.ends[:len(s.ends)-1]
		last()
	}
}

func addr(id int) string { return fmt.Sprintf("node%d:1095", id) }

func target(id int, index uint8) hemera.Target {
	return hemera.Target{Index: index, Disk: hemera.DiskID(id), Node: hemera.NodeID(id), Addr: addr(id)}
}

// Written implements hemera.Node.
func (h *host) Written(_ context.Context, p *hemera.Permit, _ string) (hemera.FileInfo, error) {
	p, err := p.Verify(h.bench.manager.verify)
	if err != nil {
		return hemera.FileInfo{}, err
	}
	return h.pending.Written(&p.Capability), nil
}

// User implements hemera.Node.
func (h *host) User(_ context.Context, p *hemera.Permit) (hemera.Identity, error) {
	p, err := p.Verify(h.bench.manager.verify)
	if err != nil {
		return hemera.Identity{}, err
	}
	return p.Who, nil
}

// Open implements hemera.Node over the host's transfers.
func (h *host) Open(ctx context.Context, p *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	p, err := p.Verify(h.bench.manager.verify)
	if err != nil {
		return nil, err
	}
	return h.pending.Open(ctx, p, o)
}

// OpenPiece implements hemera.Node over the host's transfers.
func (h *host) OpenPiece(_ context.Context, p *hemera.Permit, o hemera.PieceOpen) (hemera.PieceHandle, error) {
	p, err := p.Verify(h.bench.manager.verify)
	if err != nil {
		return nil, err
	}
	if o.Head != "" {
		token, _ := p.Token()
		if want, _ := headProof(token, h.id); o.Head != want {
			return nil, errs.New(errs.Denied, "verify", o.Head, "not the head's")
		}
	}
	return h.pending.OpenPiece(p.Capability, o, o.Head != "")
}

// headProof returns the proof that a head shows a node in these tests.
func headProof(token string, node hemera.NodeID) (string, error) {
	return fmt.Sprintf("head of %s at %d", token, node), nil
}

// asHead opens a piece at a node as the head of its write does.
func (b *bench) asHead(token string, node int, index uint8) hemera.PieceOpen {
	proof, _ := headProof(token, hemera.NodeID(node))
	return hemera.PieceOpen{Index: index, Head: proof}
}

// grant signs a capability to write a file on the hosts with the numbers.
func (b *bench) grant(file int, min int, on ...int) (string, hemera.Capability) {
	b.nonce++
	c := hemera.Capability{
		File: hemera.FileID(file), Gen: hemera.Generation(b.nonce), Path: fmt.Sprintf("/f%d", file), Name: fmt.Sprintf("f%d", file),
		Access: hemera.AccessCreate, Layout: hemera.Replica(len(on)), PiecesMin: uint8(min), Mode: 0o644,
		Checksums: []hemera.ChecksumKind{hemera.Adler32, hemera.MD5}, Nonce: b.nonce, Epoch: 7,
	}
	if b.layout.Pieces > 0 {
		c.Layout = b.layout
	}
	if b.kinds != nil {
		c.Checksums = b.kinds
	}
	for i, id := range on {
		c.Targets = append(c.Targets, target(id, uint8(i)))
	}
	return b.manager.sign(c), c
}

// update signs a capability for new content based on what was committed under base.
func (b *bench) update(base hemera.Capability, min int, on ...int) (string, hemera.Capability) {
	_, c := b.grant(int(base.File), min, on...)
	r := b.manager.commit(b.t, base)
	c.Access = hemera.AccessUpdate
	c.Base, c.Sums = &hemera.Base{Gen: base.Gen, Size: r.Size}, r.Checksums
	for _, p := range r.Pieces {
		c.Base.Pieces = append(c.Base.Pieces, target(int(p.Disk), p.Index))
	}
	return b.manager.sign(c), c
}

// read signs a capability for what was committed under c.
func (b *bench) read(c hemera.Capability) (string, hemera.Capability) {
	r := b.manager.commit(b.t, c)
	c.Access, c.Size, c.Sums, c.Targets, c.Base = hemera.AccessRead, r.Size, r.Checksums, nil, nil
	for _, p := range r.Pieces {
		c.Targets = append(c.Targets, target(int(p.Disk), p.Index))
	}
	return b.manager.sign(c), c
}

// begin opens a new file as the client does that makes it.
func (b *bench) begin(id int, token string) hemera.File {
	b.t.Helper()
	return b.open(id, token, hemera.NodeOpen{Truncate: true})
}

func (b *bench) open(id int, token string, o hemera.NodeOpen) hemera.File {
	b.t.Helper()
	f, err := b.hosts[id-1].Open(context.Background(), hemera.ParsePermit(token), o)
	if err != nil {
		b.t.Fatalf("open at %d: %v", id, err)
	}
	return f
}

// openPiece opens a piece at a host.
func (b *bench) openPiece(id int, token string, o hemera.PieceOpen) hemera.PieceHandle {
	b.t.Helper()
	f, err := b.hosts[id-1].OpenPiece(context.Background(), hemera.ParsePermit(token), o)
	if err != nil {
		b.t.Fatalf("open at %d: %v", id, err)
	}
	return f
}

// readerAt reads a handle without its checksums.
type readerAt struct{ hemera.Handle }

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	own := make([]byte, len(p))
	n, err := r.ReadPages(own, nil, off)
	if hemera.KeepsBuffers(err) { // once more into other memory, as doors do
		own = make([]byte, len(p))
		n, err = r.ReadPages(own, nil, off)
	}
	return copy(p, own[:n]), err
}

// mustRead compares the committed content, read at every host, with want.
func (b *bench) mustRead(c hemera.Capability, want []byte) {
	b.t.Helper()
	token, _ := b.read(c)
	for i := range b.hosts {
		f := b.open(i+1, token, hemera.NodeOpen{})
		got, err := io.ReadAll(io.NewSectionReader(readerAt{f}, 0, int64(len(want))+1))
		if err != nil {
			b.t.Fatalf("read at %d: %v", i+1, err)
		}
		if !bytes.Equal(got, want) {
			b.t.Fatalf("read at %d: %d bytes differ from the %d written", i+1, len(got), len(want))
		}
		_ = f.End(context.Background(), hemera.EndClose)
	}
}

// mustHave checks which of the hosts' disks hold a sealed piece of the content.
func (b *bench) mustHave(c hemera.Capability, ids ...int) {
	b.t.Helper()
	for _, h := range b.hosts {
		h.host.Wait()
	}
	for i, h := range b.hosts {
		list, err := h.disk.Store.Scan(hemera.PieceID{}, 100)
		if err != nil {
			b.t.Fatal(err)
		}
		have, want := false, false
		for _, s := range list {
			have = have || s.ID.File == c.File && s.ID.Gen == c.Gen
		}
		for _, id := range ids {
			want = want || id == i+1
		}
		if have != want {
			b.t.Errorf("disk %d: has a piece: %v, want %v", i+1, have, want)
		}
	}
}

func content(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(p)
	return p
}

// manager signs, commits and replaces, and can be away.
type manager struct {
	bench *bench

	mu        sync.Mutex
	grants    map[string]hemera.Capability
	committed map[hemera.PieceID]hemera.CommitRequest
	aborted   int
	kept      int   // how often it heard of a write that is kept
	keptSize  int64 // and of how many bytes last
	commits   int
	refuse    []error           // answers to the next commits
	after     error             // answer after a commit was done
	spare     []int             // hosts that Replace may give
	lost      [][]hemera.DiskID // what Replace was asked for
	still     time.Duration     // how long the head stands still in its next commit
}

func (m *manager) sign(c hemera.Capability) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	token := fmt.Sprintf("token%d", len(m.grants))
	m.grants[token] = c
	return token
}

func (m *manager) verify(token string) (hemera.Capability, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.grants[token]
	if !ok {
		return c, errs.New(errs.Denied, "verify", token, "unknown token")
	}
	return c, nil
}

func (m *manager) commit(t testing.TB, c hemera.Capability) hemera.CommitRequest {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]
	if !ok {
		t.Fatalf("%s generation %d was not committed", c.Path, c.Gen)
	}
	return r
}

func (m *manager) Commit(_ context.Context, r hemera.CommitRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	time.Sleep(m.still)
	m.still = 0
	if len(m.refuse) > 0 {
		err := m.refuse[0]
		m.refuse = m.refuse[1:]
		if err != nil {
			return err
		}
	}
	token, _ := r.Permit.Token()
	c := m.grants[token]
	if len(r.Pieces) < layout.Required(c.Layout, r.Size, c.PiecesMin) {
		return errs.New(errs.Invalid, "commit", c.Path, "too few pieces")
	}
	for _, p := range r.Pieces {
		if c.Targets[p.Index].Disk != p.Disk {
			return errs.New(errs.Invalid, "commit", c.Path, "a piece that was not permitted")
		}
	}
	m.committed[hemera.PieceID{File: c.File, Gen: c.Gen}] = r
	if err := m.after; err != nil {
		m.after = nil
		return err
	}
	return nil
}

func (m *manager) Keep(_ context.Context, _ *hemera.Permit, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept++
	m.keptSize = size
	return nil
}

// heard counts what heads told the manager: writes that they keep, and writes that are over without a commit.
func (m *manager) heard() (kept, aborted int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept, m.aborted
}

func (m *manager) Abort(context.Context, *hemera.Permit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.aborted++
	return nil
}

func (m *manager) Replace(_ context.Context, p *hemera.Permit, lost []hemera.DiskID) (hemera.Grant, error) {
	token, _ := p.Token()
	m.mu.Lock()
	c := m.grants[token]
	c.Targets = append([]hemera.Target(nil), c.Targets...)
	m.lost = append(m.lost, lost)
	for i, t := range c.Targets {
		switch {
		case !slices.Contains(lost, t.Disk):
		case len(m.spare) == 0:
			m.mu.Unlock()
			return hemera.Grant{}, errs.New(errs.NoSpace, "replace", c.Path, "no other disk")
		default:
			c.Targets[i] = target(m.spare[0], t.Index)
			m.spare = m.spare[1:]
		}
	}
	m.mu.Unlock()
	return hemera.Grant{Permit: hemera.VerifiedPermit(c, m.sign(c))}, nil
}

// fault makes one peer or disk fail: its writes once after bytes were written, and the named step.
type fault struct {
	mu      sync.Mutex
	step    string // "create", "clone", "write", "seal", "mark", "open", "read", or "cut" for a read that ends in its middle
	after   int64
	err     error
	written int64
}

// at reports the fault's error when it strikes at the step.
func (f *fault) at(step string, n int) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written += int64(n)
	if f.step != step || step == "write" && f.written <= f.after {
		return nil
	}
	return f.err
}

var errGone = errs.New(errs.Unavailable, "peer", "", "gone")

// faultyPeers are local peers. Some of them fail.
type faultyPeers struct {
	*transfertest.LocalPeers
	mu     sync.Mutex
	faults map[string]*fault
	bytes  atomic.Int64 // that passed between nodes
}

func (p *faultyPeers) fail(id int, f *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[addr(id)] = f
}

func (p *faultyPeers) fault(a string) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults[a]
}

func (p *faultyPeers) Create(ctx context.Context, t piece.Remote, token string) (piece.Writer, error) {
	if err := p.fault(t.Addr).at("create", 0); err != nil {
		return nil, err
	}
	w, err := p.LocalPeers.Create(ctx, t, token)
	if err != nil {
		return nil, err
	}
	return &faultyWriter{Writer: w, peers: p, addr: t.Addr}, nil
}

func (p *faultyPeers) Open(ctx context.Context, t piece.Remote, token string) (piece.Reader, error) {
	if err := p.fault(t.Addr).at("open", 0); err != nil {
		return nil, err
	}
	r, err := p.LocalPeers.Open(ctx, t, token)
	if err != nil {
		return nil, err
	}
	return &faultyReader{Reader: r, peers: p, addr: t.Addr}, nil
}

type faultyWriter struct {
	piece.Writer
	peers *faultyPeers
	addr  string
}

func (w *faultyWriter) Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error) {
	if err := w.peers.fault(w.addr).at("prove", 0); err != nil {
		return hemera.PieceProof{}, err
	}
	return w.Writer.(interface {
		Prove(context.Context, hemera.ProofRequest) (hemera.PieceProof, error)
	}).Prove(ctx, q)
}

func (w *faultyWriter) WritePages(p []byte, sums []uint32, off int64) error {
	if err := w.peers.fault(w.addr).at("write", len(p)); err != nil {
		return err
	}
	w.peers.bytes.Add(int64(len(p)))
	return w.Writer.WritePages(p, sums, off)
}

func (w *faultyWriter) Clone(ctx context.Context, size int64) error {
	if err := w.peers.fault(w.addr).at("clone", 0); err != nil {
		return err
	}
	return w.Writer.Clone(ctx, size)
}

func (w *faultyWriter) Seal(ctx context.Context, s hemera.SealInfo) error {
	if err := w.peers.fault(w.addr).at("seal", 0); err != nil {
		return err
	}
	return w.Writer.Seal(ctx, s)
}

type faultyReader struct {
	piece.Reader
	peers *faultyPeers
	addr  string
}

func (r *faultyReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if err := r.peers.fault(r.addr).at("read", 0); err != nil {
		return 0, err
	}
	r.peers.bytes.Add(int64(len(p)))
	return r.Reader.ReadPages(p, sums, off)
}

// faultyDisk is a disk that can fail like a peer.
type faultyDisk struct {
	disk.Store
	path  string
	fs    vfs.FS
	gone  bool
	wrong bool // it keeps another byte than it is given, without a word
	old   bool // it begins no piece as a copy, as a disk of an older node
	fault *fault
	bytes atomic.Int64 // read and written by Writers and Readers
}

func (d *faultyDisk) Create(id hemera.PieceID, o disk.CreateOptions) (disk.Writer, error) {
	if err := d.fault.at("create", 0); err != nil {
		return nil, err
	}
	w, err := d.Store.Create(id, o)
	if err != nil {
		return nil, err
	}
	return &faultyDiskWriter{Writer: w, disk: d}, nil
}

func (d *faultyDisk) Put(id hemera.PieceID, o disk.CreateOptions, c disk.Content, s hemera.SealInfo) (hemera.PieceStat, error) {
	if err := errors.Join(d.fault.at("create", 0), d.fault.at("write", len(c.Data)), d.fault.at("seal", 0)); err != nil {
		return hemera.PieceStat{}, err
	}
	return disk.Put(d.Store, id, o, c, s)
}

// Mark implements disk.Marker.
func (d *faultyDisk) Mark(id hemera.PieceID, kept bool) error {
	if d.gone {
		return errGone
	}
	if err := d.fault.at("mark", 0); err != nil {
		return err
	}
	return disk.Mark(d.Store, id, kept)
}

// Resume implements disk.Resumer.
func (d *faultyDisk) Resume(id hemera.PieceID, o disk.CreateOptions) (disk.Writer, error) {
	if err := d.fault.at("resume", 0); err != nil {
		return nil, err
	}
	w, err := disk.Resume(d.Store, id, o)
	if err != nil {
		return nil, err
	}
	return &faultyFound{faultyDiskWriter{Writer: w, disk: d}, w.(disk.Prover)}, nil
}

// faultyFound is a piece that an earlier process left.
type faultyFound struct {
	faultyDiskWriter
	disk.Prover
}

func (w *faultyFound) Seal(s hemera.SealInfo) (hemera.PieceStat, error) {
	if err := w.disk.fault.at("seal", 0); err != nil {
		_ = w.Leave()
		return hemera.PieceStat{}, err
	}
	return w.faultyDiskWriter.Seal(s)
}

// Remove implements disk.Store. One of a process that has ended removes nothing.
func (d *faultyDisk) Remove(id hemera.PieceID) error {
	if d.gone {
		return errGone
	}
	return d.Store.Remove(id)
}

func (d *faultyDisk) Open(id hemera.PieceID) (disk.Reader, error) {
	if err := d.fault.at("open", 0); err != nil {
		return nil, err
	}
	r, err := d.Store.Open(id)
	if err != nil {
		return nil, err
	}
	return &faultyDiskReader{Reader: r, disk: d}, nil
}

type faultyDiskWriter struct {
	disk.Writer
	disk *faultyDisk
}

func (w *faultyDiskWriter) WritePages(p []byte, sums []uint32, off int64) error {
	if err := w.disk.fault.at("write", len(p)); err != nil {
		return err
	}
	w.disk.bytes.Add(int64(len(p)))
	if w.disk.wrong {
		p, sums = bytes.Clone(p), nil
		p[len(p)/2] ^= 1
	}
	return w.Writer.WritePages(p, sums, off)
}

// ReadPages implements disk.Writer.
func (w *faultyDiskWriter) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	w.disk.bytes.Add(int64(len(p)))
	return w.Writer.ReadPages(p, sums, off)
}

// Clone implements disk.Cloner.
func (w *faultyDiskWriter) Clone(base hemera.PieceID, size int64) error {
	if w.disk.old {
		return errs.New(errs.Unsupported, "clone", base.String(), "not known")
	}
	if err := w.disk.fault.at("clone", 0); err != nil {
		return err
	}
	return disk.Clone(w.Writer, base, size)
}

func (w *faultyDiskWriter) Seal(s hemera.SealInfo) (hemera.PieceStat, error) {
	if err := w.disk.fault.at("seal", 0); err != nil {
		_ = w.Writer.Abort()
		return hemera.PieceStat{}, err
	}
	return w.Writer.Seal(s)
}

type faultyDiskReader struct {
	disk.Reader
	disk *faultyDisk
}

func (r *faultyDiskReader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if err := r.disk.fault.at("read", 0); err != nil {
		return 0, err
	}
	if err := r.disk.fault.at("cut", 0); err != nil {
		n, _ := r.Reader.ReadPages(p[:len(p)/2], sums, off)
		return n, err
	}
	r.disk.bytes.Add(int64(len(p)))
	return r.Reader.ReadPages(p, sums, off)
}

func isKind(err error, k errs.Kind) bool { return errors.Is(err, k) }

// Stalled implements disk.StallReporter.
func (d *faultyDisk) Stalled() bool { return disk.Stalled(d.Store) }
