package transfer_test

import (
	"context"
	"crypto/md5"
	"hash/adler32"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

var ctx = context.Background()

// writeAll writes p in pieces of step bytes.
func writeAll(f hemera.File, p []byte, step int) error {
	for off := 0; off < len(p); off += step {
		if err := f.WritePages(p[off:min(off+step, len(p))], nil, int64(off)); err != nil {
			return err
		}
	}
	return nil
}

func checkSums(t testing.TB, r hemera.CommitRequest, p []byte) {
	t.Helper()
	md := md5.Sum(p)
	for k, want := range map[hemera.ChecksumKind][]byte{
		hemera.Adler32: be(adler32.Checksum(p)), hemera.MD5: md[:],
		hemera.CRC32C: be(crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))),
	} {
		if k != hemera.CRC32C && r.Permit != nil && !slices.Contains(r.Permit.Checksums, k) {
			continue
		}
		sum, _ := hemera.MakeChecksum(k, want)
		if got, ok := hemera.FindChecksum(r.Checksums, k); !ok || got != sum {
			t.Errorf("checksum %v, want %v", got, sum)
		}
	}
}

func be(x uint32) []byte { return []byte{byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x)} }

func TestWriteThenRead(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 100_000, 3<<20 + 17} {
		for _, replicas := range []int{1, 2, 3} {
			b := newMemoryBench(t, 3)
			token, c := b.grant(10, replicas, []int{1, 2, 3}[:replicas]...)
			f := b.begin(1, token)
			p := content(size)
			if err := writeAll(f, p, 70_001); err != nil {
				t.Fatal(err)
			}
			if err := f.End(ctx, hemera.EndClose); err != nil {
				t.Fatalf("%d bytes, %d replicas: %v", size, replicas, err)
			}
			r := b.manager.commit(t, c)
			if want := replicas; size > 0 && len(r.Pieces) != want || size == 0 && len(r.Pieces) != 0 {
				t.Errorf("%d bytes: %d pieces", size, len(r.Pieces))
			}
			checkSums(t, r, p)
			b.mustRead(c, p)
			if size == 0 {
				b.mustHave(c)
			}
		}
	}
}

// TestFailures: whatever fails when, a close that succeeds has the whole content on at least the
// minimum of disks, and one that fails leaves nothing.
func TestFailures(t *testing.T) {
	gone := func(step string, after int64) *fault { return &fault{step: step, after: after, err: errGone} }
	type outcome struct {
		kind errs.Kind // of the close, when have is nil
		says string    // and what its error says
		have []int     // disks with a piece
	}
	const size = 300_000
	for _, c := range []struct {
		name  string
		min   int
		disk1 *fault
		peers map[int]*fault
		spare []int
		want  outcome
	}{
		{name: "nothing", min: 2, want: outcome{have: []int{1, 2, 3}}},
		{name: "peer cannot begin, spare", min: 3, peers: map[int]*fault{2: gone("create", 0)}, spare: []int{4}, want: outcome{have: []int{1, 3, 4}}},
		{name: "peer cannot begin, no spare", min: 2, peers: map[int]*fault{2: gone("create", 0)}, want: outcome{have: []int{1, 3}}},
		{name: "peer cannot begin, minimum is all", min: 3, peers: map[int]*fault{2: gone("create", 0)}, want: outcome{kind: errs.Unavailable, says: "2 of 3 pieces could be sealed, and a close takes 3"}},
		{name: "peer dies at the first byte", min: 2, peers: map[int]*fault{2: gone("write", 0)}, want: outcome{have: []int{1, 3}}},
		{name: "peer dies inside a page", min: 3, peers: map[int]*fault{2: gone("write", 4097)}, spare: []int{4}, want: outcome{have: []int{1, 3, 4}}},
		{name: "peer dies in the middle", min: 3, peers: map[int]*fault{3: gone("write", size/2)}, spare: []int{4}, want: outcome{have: []int{1, 2, 4}}},
		{name: "peer dies at the last byte", min: 3, peers: map[int]*fault{3: gone("write", size-1)}, spare: []int{5}, want: outcome{have: []int{1, 2, 5}}},
		{name: "peer dies at seal", min: 3, peers: map[int]*fault{2: gone("seal", 0)}, spare: []int{4}, want: outcome{have: []int{1, 3, 4}}},
		{name: "peer dies at seal, no spare", min: 2, peers: map[int]*fault{2: gone("seal", 0)}, want: outcome{have: []int{1, 3}}},
		{name: "peer dies at seal, below the minimum", min: 3, peers: map[int]*fault{2: gone("seal", 0)}, want: outcome{kind: errs.Unavailable}},
		{name: "the spare dies too", min: 2, peers: map[int]*fault{2: gone("write", 9000), 4: gone("seal", 0)}, spare: []int{4, 5}, want: outcome{have: []int{1, 3, 5}}},
		{name: "spares die, few remain", min: 2, peers: map[int]*fault{2: gone("write", 9000), 4: gone("create", 0), 5: gone("write", 5)}, spare: []int{4, 5}, want: outcome{have: []int{1, 3}}},
		{name: "both peers die, two spares", min: 3, peers: map[int]*fault{2: gone("write", 9000), 3: gone("seal", 0)}, spare: []int{4, 5}, want: outcome{have: []int{1, 4, 5}}},
		{name: "own disk dies at the start", min: 3, disk1: gone("create", 0), spare: []int{4}, want: outcome{have: []int{2, 3, 4}}},
		{name: "own disk dies in the middle", min: 3, disk1: gone("write", size/2), spare: []int{4}, want: outcome{have: []int{2, 3, 4}}},
		{name: "own disk dies at seal", min: 3, disk1: gone("seal", 0), spare: []int{5}, want: outcome{have: []int{2, 3, 5}}},
		{name: "own disk full", min: 2, disk1: &fault{step: "write", after: 9999, err: errs.New(errs.NoSpace, "disk", "", "full")}, want: outcome{have: []int{2, 3}}},
		{name: "all die", min: 1, disk1: gone("write", 99), peers: map[int]*fault{2: gone("write", 9), 3: gone("write", 9)}, spare: []int{4}, want: outcome{kind: errs.Unavailable, says: "every piece of the write failed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newMemoryBench(t, 5)
			b.manager.spare = c.spare
			b.hosts[0].disk.fault = c.disk1
			for id, f := range c.peers {
				b.peers.fail(id, f)
			}
			token, capability := b.grant(20, c.min, 1, 2, 3)
			f := b.begin(1, token)
			p := content(size)
			err := writeAll(f, p, 30_011)
			if closing := f.End(ctx, hemera.EndClose); err == nil {
				err = closing
			}
			b.hosts[0].disk.fault = nil
			if c.want.have == nil {
				if !isKind(err, c.want.kind) || !strings.Contains(err.Error(), c.want.says) {
					t.Fatalf("got %v, want %v, %q", err, c.want.kind, c.want.says)
				}
				if _, ok := b.manager.committed[hemera.PieceID{File: 20, Gen: capability.Gen}]; ok {
					t.Fatal("committed all the same")
				}
				if b.manager.aborted != 1 {
					t.Errorf("the manager heard of %d aborts", b.manager.aborted)
				}
				b.mustHave(capability)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for id := range c.peers {
				b.peers.fail(id, nil)
			}
			b.mustHave(capability, c.want.have...)
			checkSums(t, b.manager.commit(t, capability), p)
			b.mustRead(capability, p)
		})
	}
}

// TestOwnDiskDiesAfterRandomWrites: the checksums must then be read back from a peer's pending piece.
func TestOwnDiskDiesAfterRandomWrites(t *testing.T) {
	b := newMemoryBench(t, 3)
	token, c := b.grant(21, 2, 1, 2, 3)
	f := b.begin(1, token)
	p := content(200_000)
	for _, off := range []int{100_000, 0} {
		if err := f.WritePages(p[off:off+100_000], nil, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	b.hosts[0].disk.fault = &fault{step: "write", err: errs.New(errs.IO, "disk", "", "dead")}
	if err := f.WritePages(p[5000:6000], nil, 5000); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1000)
	if n, err := f.ReadPages(got, nil, 99_500); n != 1000 || err != nil || string(got) != string(p[99_500:100_500]) {
		t.Fatalf("read back: %d, %v", n, err)
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	b.hosts[0].disk.fault = nil
	checkSums(t, b.manager.commit(t, c), p)
	b.mustHave(c, 2, 3)
	b.mustRead(c, p)
}

// TestAPieceNeverComesBackToADisk: what a write lost on a disk may be removed there at any time later, so the write names
// every disk that it left, and does not go back to one, whatever the manager says.
func TestAPieceNeverComesBackToADisk(t *testing.T) {
	b := newBench(t, 3)
	b.noSmall()
	b.manager.spare = []int{3, 2} // the manager has forgotten, when it is asked again
	token, c := b.grant(47, 1, 1, 2)
	f := b.begin(1, token)
	if err := f.WritePages(content(100_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int{2, 3} {
		b.peers.fail(id, &fault{step: "seal", err: errGone})
	}
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	if got, want := b.manager.lost, [][]hemera.DiskID{{2}, {3, 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("asked for others than %v, want %v", got, want)
	}
	if r := b.manager.commit(t, c); len(r.Pieces) != 1 || r.Pieces[0].Disk != 1 {
		t.Errorf("committed %v, want one piece on disk 1", r.Pieces)
	}
}
