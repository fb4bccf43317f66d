package direct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/rules/wire"
	"hemera/transfer"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// newFile returns the options with which copies create files.
func newFile(size int) xrootd.OpenOptions {
	return xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: int64(size)}
}

// received returns the number of bytes that each node has received so far.
func received(up *daemon.Up) (list []int64) {
	for _, n := range up.Nodes {
		list = append(list, n.Counters().WriteBytes.Load())
	}
	return list
}

// random returns size random bytes.
func random(seed byte, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// write sends a content in parts and commits.
func write(w *Writer, content []byte) error {
	for part := range slices.Chunk(content, 700_001) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return w.Commit(w.ctx)
}

// stored reads the file like a stock client.
func stored(t *testing.T, c *xrootd.Client, u xrootd.URL) []byte {
	t.Helper()
	f, err := c.Open(t.Context(), u, xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	got, err := io.ReadAll(f.NewReader(t.Context(), 0, hemera.FileSizeMax))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBytesGoToTheNodesThatKeepThem checks that a writer makes the same file as a head would, and that each node receives
// the bytes of its own piece only.
func TestBytesGoToTheNodesThatKeepThem(t *testing.T) {
	up, c := nodes(t)
	d, notes := client(t, c, Always)
	for _, name := range []string{"rs:4+2", "lrc:3+1+1", "stripe:4", "rs:2+1"} {
		for _, size := range []int{0, 5, 64 << 10, 5<<20 + 12_345} {
			u := urlOf(t, up, "/"+name+"?hem.layout="+name+"&hem.blocksize=64k")
			l, err := hemera.ParseLayout(name, 0)
			if err != nil {
				t.Fatal(err)
			}
			l.BlockSize = hemera.BlockSizeMin
			want, before := random(byte(size), size), received(up)
			w, err := d.Create(t.Context(), u, newFile(size))
			if err != nil {
				t.Fatal(err)
			}
			if err := write(w, want); err != nil || !w.Direct() {
				t.Fatalf("%s, %d bytes: direct %v, %v", name, size, w.Direct(), err)
			}
			var got, pieces []int64
			for i, n := range received(up) {
				if n -= before[i]; n > 0 {
					got = append(got, n)
				}
			}
			for i := range l.Pieces {
				if n := layout.PieceSize(l, int64(size), i); n > 0 {
					pieces = append(pieces, n)
				}
			}
			slices.Sort(got)
			slices.Sort(pieces)
			if !slices.Equal(got, pieces) {
				t.Errorf("%s, %d bytes: nodes were sent %v, the pieces have %v", name, size, got, pieces)
			}
			if got := stored(t, c, u); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes that differ from the %d written", name, len(got), size)
			}
			sum, err := c.Checksum(t.Context(), u, hemera.Adler32)
			if right, _ := checksum.Of(hemera.Adler32, want); err != nil || sum != right {
				t.Errorf("%s: %s, want %s: %v", name, sum, right, err)
			}
		}
	}
	if len(*notes) > 0 {
		t.Errorf("it says %q", *notes)
	}
}

// TestWhatDoesNotSuitGoesThroughTheHead checks that files that do not suit direct access are written through the head,
// with a note that says why.
func TestWhatDoesNotSuitGoesThroughTheHead(t *testing.T) {
	up, c := nodes(t)
	for _, f := range []struct {
		mode        Mode
		query, note string
	}{
		{Always, "?hem.layout=replica:2", "layout"},
		{Auto, "?hem.layout=rs:2+1", "without a capability"},
		{Never, "?hem.layout=rs:2+1", ""},
	} {
		d, notes := client(t, c, f.mode)
		u := urlOf(t, up, fmt.Sprintf("/f%d%s", f.mode, f.query))
		w, err := d.Create(t.Context(), u, newFile(100_000))
		if err != nil {
			t.Fatal(err)
		}
		want := random(byte(f.mode), 100_000)
		if err := write(w, want); err != nil || w.Direct() {
			t.Errorf("%+v: direct %v, %v", f, w.Direct(), err)
		}
		if got := stored(t, c, u); !bytes.Equal(got, want) {
			t.Errorf("%+v: %d bytes that differ", f, len(got))
		}
		if said := strings.Join(*notes, "; "); !strings.Contains(said, f.note) || (f.note == "") != (said == "") {
			t.Errorf("%+v: it says %q", f, said)
		}
	}
}

// TestTheWayIsTold checks the notes about a direct write and a direct read.
func TestTheWayIsTold(t *testing.T) {
	up, c := nodes(t)
	var told []string
	d := New(c, Options{Mode: Always, Straight: func(_, layout string) { told = append(told, layout) }})
	t.Cleanup(func() { _ = d.Close() })
	u := urlOf(t, up, "/f?hem.layout=rs:2+1")
	w, err := d.Create(t.Context(), u, newFile(100_000))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(w, random(1, 100_000)); err != nil {
		t.Fatal(err)
	}
	f, err := d.Open(t.Context(), urlOf(t, up, "/f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(t.Context()); err != nil || len(told) != 2 || !strings.HasPrefix(told[0], "rs:2+1") || told[1] != told[0] {
		t.Errorf("told %q, %v", told, err)
	}
}

// TestAnAbandonedWriteLeavesNothing checks that neither a name, nor a piece, nor a pending write at the nodes remains.
func TestAnAbandonedWriteLeavesNothing(t *testing.T) {
	up, c := nodes(t)
	d, _ := client(t, c, Always)
	u := urlOf(t, up, "/f?hem.layout=rs:4+2&hem.blocksize=64k")
	w, err := d.Create(t.Context(), u, newFile(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(random(1, 3_000_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Abandon(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat(t.Context(), u); !errors.Is(err, errs.NotFound) {
		t.Errorf("stat: %v", err)
	}
	if w, err = d.Create(t.Context(), u, newFile(0)); err != nil { // its name is free
		t.Fatal(err)
	}
	if err := w.Abandon(t.Context()); err != nil {
		t.Error(err)
	}
}

// liar claims a wrong checksum of the pieces.
type liar struct{ *committer }

// Commit implements transfer.Committer.
func (l liar) Commit(ctx context.Context, r hemera.CommitRequest) error {
	r.Checksums = slices.Clone(r.Checksums)
	r.Checksums[0].Value[1] ^= 1
	return l.committer.Commit(ctx, r)
}

// TestAWrongClientCommitsNothing checks that the head detects a wrong checksum with the nodes' answers, and removes the
// pieces.
func TestAWrongClientCommitsNothing(t *testing.T) {
	up, c := nodes(t)
	d, _ := client(t, c, Always)
	u := urlOf(t, up, "/f?hem.layout=rs:4+2&hem.blocksize=64k&hem.where=1")
	head, err := c.Open(t.Context(), u, newFile(0))
	if err != nil {
		t.Fatal(err)
	}
	permit, err := parseWrite(head.URL().Opaque.Value(wire.OpaqueCapability))
	if err != nil {
		t.Fatal(err)
	}
	host := d.newHost(liar{&committer{head: head}})
	f, err := transfer.NewPending(host).Open(t.Context(), permit, hemera.NodeOpen{Truncate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WritePages(random(2, 2_000_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.End(t.Context(), hemera.EndClose); !errors.Is(err, errs.Corrupt) {
		t.Errorf("the head says %v", err)
	}
	host.Wait()
	if _, err := c.Stat(t.Context(), u); !errors.Is(err, errs.NotFound) {
		t.Errorf("stat: %v", err)
	}
}

// TestHandlesOfOtherKindsTakeNoPart checks that queries of direct writes fail on handles of other kinds.
func TestHandlesOfOtherKindsTakeNoPart(t *testing.T) {
	up, c := nodes(t)
	u := urlOf(t, up, "/f")
	put(t, c, u, 1, 1000)
	read, err := c.Open(t.Context(), u, xrootd.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Release()
	for _, ask := range []string{wire.EncodeAdopt(hemera.SealInfo{}, []hemera.Piece{{Disk: 1}}), wire.EncodeReplace([]hemera.DiskID{1}), wire.EncodeProve(hemera.ProofRequest{})} {
		if _, err := read.Query(t.Context(), wire.QueryOpaquf, ask); err == nil {
			t.Errorf("a file that is read answers %s", ask)
		}
	}
	write, err := c.Open(t.Context(), u, newFile(0))
	if err != nil {
		t.Fatal(err)
	}
	defer write.Release()
	for _, ask := range []string{wire.EncodeProve(hemera.ProofRequest{}), wire.OpaqueAdopt + "&size=x", wire.OpaqueReplace + "&disks=0"} {
		if _, err := write.Query(t.Context(), wire.QueryOpaquf, ask); err == nil {
			t.Errorf("a file that is written answers %s", ask)
		}
	}
}

func TestSuitedToWrite(t *testing.T) {
	large := int64(1 << 30)
	oneNode, hashed, few := coded("rs:4+2", large), coded("rs:4+2", large), coded("rs:4+2", large)
	few.Targets = few.Targets[:5]
	for i := range oneNode.Targets[:4] {
		oneNode.Targets[i].Node = 1
	}
	hashed.Checksums = []hemera.ChecksumKind{hemera.SHA256}
	for _, c := range []struct {
		name         string
		c            hemera.Capability
		size         int64
		away         string
		auto, always string // a part of the reason; "" if it is suited
	}{
		{"large", coded("rs:4+2", large), large, "", "", ""},
		{"small", coded("rs:4+2", large), sizeMin - 1, "", "less than", ""},
		{"of no known size", coded("rs:4+2", large), 0, "", "less than", ""},
		{"copies", coded("replica:2", large), large, "", "layout", "layout"},
		{"another checksum", hashed, large, "", "checksum", "checksum"},
		{"fewer disks than pieces", few, large, "", "5 disks", "5 disks"},
		{"data on one node", oneNode, large, "", "one node", ""},
		{"a parity's node away", coded("rs:4+2", large), large, "node5:1", "reached", "reached"},
	} {
		for mode, want := range map[Mode]string{Auto: c.auto, Always: c.always} {
			got := suitedToWrite(mode, &c.c, c.size, func(addr string) bool { return addr != c.away })
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s, mode %d: %q, want %q", c.name, mode, got, want)
			}
		}
	}
}

func TestWhenItPaysToWriteDirectly(t *testing.T) {
	const gigabit = 1_000_000_000
	l, err := hemera.ParseLayout("rs:4+2", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		own         int64
		speed, out  int64
		paysForFour bool
	}{
		{"alike and idle: 0.67 of the link directly, 0.8 through the head", gigabit, gigabit, 0, false},
		{"the head sends a tenth already", gigabit, gigabit, gigabit / 10, false},
		{"the head sends a fifth already: 0.64", gigabit, gigabit, gigabit / 5, true},
		{"a client of 25 at nodes of 10", 25 * gigabit, 10 * gigabit, 0, true},
		{"a slow client", gigabit, 10 * gigabit, 0, false},
		{"a slow client at a head that is full", gigabit, 10 * gigabit, 10 * gigabit, true},
		{"a head that counts more than its speed", gigabit, gigabit, 2 * gigabit, true},
		{"nothing is known of the client", 0, gigabit, 0, true},
		{"nothing is known of the head", gigabit, 0, 0, true},
	} {
		if got := pays(l, c.own, hemera.NetworkLink{Speed: c.speed, Out: c.out}); got != c.paysForFour {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
