package transfer_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"
	"testing"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer"
	"hemera/transfer/jobs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// job makes work on host id's disk for the committed content, from the given hosts.
func (b *bench) job(c hemera.Capability, id int, index uint8, from ...int) jobs.Job {
	token, read := b.read(c)
	j := jobs.Job{
		Piece: hemera.PieceID{File: c.File, Gen: c.Gen, Index: index},
		Disk:  b.hosts[id-1].disk, Cap: read, Token: token,
	}
	for _, t := range read.Targets {
		for _, want := range from {
			if int(t.Disk) == want {
				j.Sources = append(j.Sources, t)
			}
		}
	}
	return j
}

func TestCopy(t *testing.T) {
	for _, size := range []int{1, 4096, 5<<20 + 3} {
		b := newBench(t, 4)
		p := content(size)
		c := b.put(70, p, 1, 2)
		b.flip(c, 1, 0) // the bad page comes from the other source
		h := b.hosts[3].host
		for round, want := range []int64{int64(size), 0} {
			if n, err := h.Jobs().Copy(ctx, b.job(c, 4, 0, 1, 2)); n != want || err != nil {
				t.Fatalf("round %d: %d, %v", round, n, err)
			}
		}
		nobody, leave := context.WithCancel(t.Context())
		leave() // a checksum stops when nobody waits for it any more
		if _, err := h.Jobs().Verify(nobody, b.hosts[3].disk, hemera.PieceID{File: c.File, Gen: c.Gen}, hemera.Adler32); errs.KindOf(err) != errs.Cancelled {
			t.Errorf("a checksum that nobody wants: %v", err)
		}
		v, err := h.Jobs().Verify(t.Context(), b.hosts[3].disk, hemera.PieceID{File: c.File, Gen: c.Gen}, hemera.Adler32)
		if err != nil || len(v.Bad) > 0 {
			t.Fatalf("the copy: %v, %v", v.Bad, err)
		}
		checkSums(t, hemera.CommitRequest{Checksums: v.Stat.Checksums}, p)
		if v.Stat.Path != c.Path || v.Stat.Layout != c.Layout || v.Stat.FileSize != int64(size) {
			t.Errorf("footer of the copy: %+v", v.Stat)
		}
	}
}

// TestCopyVerifiesWhatIsThere: who asked for the copy drops the piece it was made from.
func TestCopyVerifiesWhatIsThere(t *testing.T) {
	const size = 200_000
	p := content(size)
	other := bytes.Clone(p)
	other[100_000] ^= 1
	for name, spoil := range map[string]func(b *bench, c hemera.Capability){
		"a bad page": func(b *bench, c hemera.Capability) { b.flip(c, 3, 50_000) },
		"a bad table": func(b *bench, c hemera.Capability) {
			b.flip(c, 3, (size+hemera.PageSize-1)/hemera.PageSize*hemera.PageSize+1)
		},
		"another content": func(b *bench, c hemera.Capability) {
			id := hemera.PieceID{File: c.File, Gen: c.Gen}
			if err := b.hosts[2].disk.Remove(id); err != nil {
				t.Fatal(err)
			}
			_, read := b.read(c)
			// Without its CRC32C, which a disk compares.
			sums := slices.DeleteFunc(slices.Clone(read.Sums), func(s hemera.Checksum) bool { return s.Kind == hemera.CRC32C })
			content := disk.Content{Data: other, Sums: make([]uint32, checksum.Fragments(0, size))}
			checksum.PageSums(other, 0, content.Sums)
			o := disk.CreateOptions{Path: c.Path, Layout: c.Layout}
			if _, err := disk.Put(b.hosts[2].disk, id, o, content, hemera.SealInfo{FileSize: size, Checksums: sums}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for kind, work := range map[string]func(h *transfer.Host, j jobs.Job) (int64, error){
			"copy":   func(h *transfer.Host, j jobs.Job) (int64, error) { return h.Jobs().Copy(ctx, j) },
			"repair": func(h *transfer.Host, j jobs.Job) (int64, error) { return h.Jobs().Repair(ctx, j) },
		} {
			t.Run(kind+" over "+name, func(t *testing.T) {
				b := newBench(t, 3)
				c := b.put(74, p, 1)
				j := b.job(c, 3, 0, 1)
				h := b.hosts[2].host
				if n, err := h.Jobs().Copy(ctx, j); n != size || err != nil {
					t.Fatalf("the first copy: %d, %v", n, err)
				}
				spoil(b, c)
				if n, err := work(h, j); n == 0 || err != nil {
					t.Errorf("over a bad piece: %d, %v", n, err)
				}
				r, err := b.hosts[2].disk.Open(j.Piece)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				got := make([]byte, size)
				if _, err := r.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, p) {
					t.Errorf("after: not the file's content, %v", err)
				}
			})
		}
	}
}

// TestCopyComparesPiecesOfCodedFiles: pages and footer of a piece can be right, and its bytes be others than the file's.
func TestCopyComparesPiecesOfCodedFiles(t *testing.T) {
	l := small(hemera.ReedSolomon(2, 1))
	for index := range uint8(3) {
		b := newMemoryBench(t, 4)
		b.layout = l
		p := content(50_000)
		c := b.put(75, p, 1, 2, 3)
		h := b.hosts[3].host
		// A copy of another piece of the same length stands where this one goes.
		id := hemera.PieceID{File: c.File, Gen: c.Gen, Index: index}
		size := layout.PieceSize(l, int64(len(p)), index)
		wrong := disk.Content{Data: p[:size], Sums: make([]uint32, checksum.Fragments(0, int(size)))}
		checksum.PageSums(wrong.Data, 0, wrong.Sums)
		_, read := b.read(c)
		if _, err := disk.Put(b.hosts[3].disk, id, disk.CreateOptions{Path: c.Path, Layout: c.Layout}, wrong, hemera.SealInfo{FileSize: int64(len(p)), Checksums: read.Sums}); err != nil {
			t.Fatal(err)
		}
		// The second copy finds the work of the first one.
		for round, want := range []int64{size, 0} {
			if n, err := h.Jobs().Copy(ctx, b.job(c, 4, index, 1, 2, 3)); n != want || err != nil {
				t.Errorf("piece %d, round %d: %d, %v", index, round, n, err)
			}
		}
	}
}

func TestCopyFailsCleanly(t *testing.T) {
	b := newBench(t, 3)
	p := content(100_000)
	c := b.put(71, p, 1)
	good := b.job(c, 3, 0, 1)
	for name, change := range map[string]func(*jobs.Job){
		"no source":         func(j *jobs.Job) { j.Sources = nil },
		"other file":        func(j *jobs.Job) { j.Cap.File++ },
		"write capability":  func(j *jobs.Job) { j.Cap.Access = hemera.AccessCreate },
		"checksum differs":  func(j *jobs.Job) { j.Cap.Sums = []hemera.Checksum{{Kind: hemera.CRC32C}} },
		"source goes away":  func(*jobs.Job) { b.peers.fail(1, &fault{step: "read", err: errGone}) },
		"disk takes no end": func(*jobs.Job) { b.hosts[2].disk.fault = &fault{step: "seal", err: errGone} },
	} {
		j := good
		change(&j)
		if _, err := b.hosts[2].host.Jobs().Copy(ctx, j); err == nil {
			t.Errorf("%s: no error", name)
		}
		b.peers.fail(1, nil)
		b.hosts[2].disk.fault = nil
		b.mustHave(c, 1)
	}
}

func TestRepair(t *testing.T) {
	const size = 200_000
	for _, c := range []struct {
		name  string
		spoil func(b *bench, c hemera.Capability)
		pages int64
	}{
		{"nothing", func(*bench, hemera.Capability) {}, 0},
		{"three pages", func(b *bench, c hemera.Capability) { b.flip(c, 1, 0); b.flip(c, 1, 50_000); b.flip(c, 1, size-1) }, 3},
		{"gone", func(b *bench, c hemera.Capability) { _ = os.Remove(b.piecePath(c, 1)) }, 49},
		{"cut", func(b *bench, c hemera.Capability) { _ = os.Truncate(b.piecePath(c, 1), 1000) }, 49},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 2)
			p := content(size)
			capability := b.put(72, p, 1, 2)
			c.spoil(b, capability)
			n, err := b.hosts[0].host.Jobs().Repair(ctx, b.job(capability, 1, 0, 2))
			if err != nil || n != c.pages {
				t.Errorf("%d pages, %v", n, err)
			}
			v, err := b.hosts[0].host.Jobs().Verify(t.Context(), b.hosts[0].disk, hemera.PieceID{File: capability.File, Gen: capability.Gen}, hemera.MD5)
			if err != nil || len(v.Bad) > 0 {
				t.Errorf("after: %v, %v", v.Bad, err)
			}
			b.mustRead(capability, p)
		})
	}
	b := newBench(t, 2)
	capability := b.put(73, content(size), 1, 2)
	b.flip(capability, 1, 0)
	b.flip(capability, 2, 0)
	if _, err := b.hosts[0].host.Jobs().Repair(ctx, b.job(capability, 1, 0, 2)); !isKind(err, errs.NoReplicas) {
		t.Errorf("repair from a bad source: %v", err)
	}
	b.mustHave(capability, 1, 2)
	// A piece that only a copy can mend stays while its source is as bad.
	good, err := os.ReadFile(b.piecePath(capability, 1))
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Truncate(b.piecePath(capability, 1), size-1000)
	if _, err := b.hosts[0].host.Jobs().Repair(ctx, b.job(capability, 1, 0, 2)); err == nil {
		t.Error("repair from a bad source: no error")
	}
	left, err := os.ReadFile(b.piecePath(capability, 1))
	if err != nil || !bytes.Equal(left, good[:size-1000]) {
		t.Errorf("what was left of the piece is gone: %d bytes, %v", len(left), err)
	}
}

// TestConcurrentUse has many writers, readers and a closer on one file.
func TestConcurrentUse(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(74, 2, 1, 2)
	p := content(400_000)
	b.begin(1, token).End(ctx, hemera.EndDetach)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			f := b.open(1, token, hemera.NodeOpen{})
			for off := i * 50_000; off < (i+1)*50_000; off += 10_000 {
				if err := f.WritePages(p[off:off+10_000], nil, int64(off)); err != nil {
					t.Error(err)
				}
				_, _ = f.ReadPages(make([]byte, 100), nil, int64(off))
			}
			f.End(ctx, hemera.EndDetach)
		})
	}
	wg.Wait()
	closers := make([]hemera.File, 4)
	for i := range closers {
		closers[i] = b.open(1, token, hemera.NodeOpen{})
	}
	for _, f := range closers {
		wg.Go(func() {
			if err := f.End(ctx, hemera.EndClose); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if b.manager.commits != 1 {
		t.Errorf("%d commits", b.manager.commits)
	}
	b.mustRead(c, p)

	token, _ = b.read(c)
	f := b.open(1, token, hemera.NodeOpen{})
	b.flip(c, 1, 123_456)
	for range 8 {
		wg.Go(func() {
			got := make([]byte, len(p))
			if n, err := f.ReadPages(got, nil, 0); n != len(p) || err != nil || !bytes.Equal(got, p) {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	wg.Wait()
	_ = f.End(ctx, hemera.EndClose)
}

func TestPieceHandle(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(75, 2, 1, 2)
	piece := b.asHead(token, 2, 1)
	if _, err := b.hosts[0].OpenPiece(ctx, hemera.ParsePermit(token), b.asHead(token, 1, 1)); !isKind(err, errs.Denied) {
		t.Errorf("another node's piece: %v", err)
	}
	f := b.openPiece(2, token, piece)
	p := content(9000)
	if err := f.WritePages(p, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.End(ctx, hemera.EndClose); err != nil { // keeps it pending
		t.Fatal(err)
	}
	f = b.openPiece(2, token, piece)
	got := make([]byte, 9000)
	if n, err := f.ReadPages(got, nil, 0); n != len(p) || !bytes.Equal(got, p) {
		t.Fatalf("after coming back: %d, %v", n, err)
	}
	seal := hemera.SealInfo{FileSize: 9001}
	if _, err := f.Seal(ctx, seal); !isKind(err, errs.Corrupt) {
		t.Errorf("seal with another size: %v", err)
	}
	seal.FileSize = 9000
	for range 2 {
		if s, err := f.Seal(ctx, seal); err != nil || s.Size != 9000 {
			t.Fatalf("seal: %+v, %v", s, err)
		}
	}
	if err := f.WritePages(p, nil, 0); !isKind(err, errs.BadHandle) {
		t.Errorf("write after seal: %v", err)
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	f = b.openPiece(2, token, piece) // sealed: for reading
	if n, err := f.ReadPages(got, nil, 0); n != len(p) || !bytes.Equal(got, p) {
		t.Fatalf("sealed: %d, %v", n, err)
	}
	_ = f.End(ctx, hemera.EndClose)
	b.mustHave(c, 2)
}
