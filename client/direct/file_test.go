package direct

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/process/daemon"
	"hemera/rules/capability"
	"hemera/rules/wire"
	"hemera/test/fixture/serving"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// patience bounds the waits of a test.
const patience = 30 * time.Second

// nodes runs a cluster of six nodes with a disk each, and returns it with a client that writes to it.
func nodes(t *testing.T) (*daemon.Up, *xrootd.Client) {
	t.Helper()
	up, err := daemon.OpenUp(t.Context(), daemon.UpOptions{Nodes: 6, Disks: 6, Manager: daemon.ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour, RemovalHold: time.Hour,
		Log: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		t.Fatal(err)
	}
	serving.Run(t, up.Run)
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	return up, c
}

// client returns a client for reads, and the list of its notes.
func client(t *testing.T, c *xrootd.Client, m Mode) (*Client, *[]string) {
	notes := &[]string{}
	d := New(c, Options{Mode: m, Note: func(_, reason string) { *notes = append(*notes, reason) }})
	t.Cleanup(func() { _ = d.Close() })
	return d, notes
}

func urlOf(t *testing.T, up *daemon.Up, path string) xrootd.URL {
	t.Helper()
	u, err := xrootd.ParseURL("root://" + up.Manager.Addr + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// put writes a file of random bytes.
func put(t *testing.T, c *xrootd.Client, u xrootd.URL, seed byte, size int) []byte {
	t.Helper()
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	f, err := c.Open(t.Context(), u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err == nil {
		err = f.WriteAt(t.Context(), b, 0)
	}
	if err == nil {
		err = f.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// opened opens a file until the test ends.
func opened(t *testing.T, d *Client, u xrootd.URL) *File {
	t.Helper()
	f, err := d.Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return f
}

// rest reads the remaining bytes of a reader.
func rest(t *testing.T, r *Reader) []byte {
	t.Helper()
	var got []byte
	for {
		b, err := r.Next()
		got = append(got, b...)
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sent returns the number of bytes that each node has sent so far.
func sent(up *daemon.Up) (list []int64) {
	for _, n := range up.Nodes {
		list = append(list, n.Counters().ReadBytes.Load())
	}
	return list
}

// TestBytesComeFromTheNodesThatHaveThem checks that a reader gets the bytes of the file, and that each node sends the
// bytes of its own piece only: no byte passes through another node.
func TestBytesComeFromTheNodesThatHaveThem(t *testing.T) {
	up, c := nodes(t)
	d, notes := client(t, c, Always)
	for _, layout := range []string{"rs:4+2", "lrc:3+1+1", "stripe:4", "rs:2+1"} {
		const size = 5<<20 + 12_345
		u := urlOf(t, up, "/"+layout)
		want := put(t, c, urlOf(t, up, "/"+layout+"?hem.layout="+layout+"&hem.blocksize=64k"), 1, size)
		f := opened(t, d, u)
		var all, most int64
		// On a busy machine a node may seem slow, and more is read; such a run does not count.
		for hedged := int64(-1); hedged != d.host.Counters.Hedged.Load(); {
			hedged = d.host.Counters.Hedged.Load()
			before := sent(up)
			r := f.NewReader(t.Context(), 0, hemera.FileSizeMax)
			if got := rest(t, r); !bytes.Equal(got, want) || !f.Direct() {
				t.Fatalf("%s: %d bytes that differ, direct: %v", layout, len(got), f.Direct())
			}
			r.Close()
			all, most = 0, 0
			for i, n := range sent(up) {
				all += n - before[i]
				most = max(most, n-before[i])
			}
		}
		data := int64(f.first.Layout.Data)
		// Opening a piece reads one byte of it.
		if all < size || all > size+data || most > size/data+64<<10 {
			t.Errorf("%s: the nodes sent %d bytes of %d, one of them %d", layout, all, size, most)
		}
		// Ranges at random offsets, as an analysis library reads.
		random := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			off := random.Int64N(size + 1000)
			p := make([]byte, random.IntN(700_000))
			n, err := f.ReadAt(t.Context(), p, off)
			left := want[min(off, size):]
			left = left[:min(len(p), len(left))]
			if !bytes.Equal(p[:n], left) || (err == io.EOF) != (n < len(p)) || err != nil && err != io.EOF {
				t.Errorf("%s: %d bytes at %d, %v", layout, n, off, err)
			}
		}
	}
	if len(*notes) > 0 {
		t.Errorf("notes %q", *notes)
	}
}

// TestFilesThatDoNotPay checks that files too small for direct access go through one node, as for other clients.
func TestFilesThatDoNotPay(t *testing.T) {
	up, c := nodes(t)
	for _, m := range []struct {
		mode  Mode
		files map[string]bool // by layout: read from its nodes
	}{{Auto, map[string]bool{"replica:2": false, "rs:4+2": false}}, {Never, map[string]bool{"rs:4+2": false}}, {Always, map[string]bool{"replica:2": false, "rs:4+2": true}}} {
		d, _ := client(t, c, m.mode)
		for layout, direct := range m.files {
			want := put(t, c, urlOf(t, up, "/"+layout+"?hem.layout="+layout), 2, 3<<20+1)
			f := opened(t, d, urlOf(t, up, "/"+layout))
			if f.Direct() != direct {
				t.Errorf("mode %d, %s: direct: %v", m.mode, layout, f.Direct())
			}
			p := make([]byte, len(want))
			if _, err := f.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, want) {
				t.Errorf("mode %d, %s: other bytes, %v", m.mode, layout, err)
			}
			if got := rest(t, f.NewReader(t.Context(), 100, 5000)); !bytes.Equal(got, want[100:5000]) {
				t.Errorf("mode %d, %s: the reader has other bytes", m.mode, layout)
			}
		}
	}
	put(t, c, urlOf(t, up, "/empty?hem.layout=rs:4+2"), 3, 0)
	d, _ := client(t, c, Always)
	if got := rest(t, opened(t, d, urlOf(t, up, "/empty")).NewReader(t.Context(), 0, 5)); len(got) != 0 {
		t.Errorf("an empty file has %d bytes", len(got))
	}
}

// TestReaderGoesOnWithANewCapability checks that a reader gets a new capability when the first one has expired, and still
// reads the content with which it began, although the file was replaced meanwhile.
func TestReaderGoesOnWithANewCapability(t *testing.T) {
	up, c := nodes(t)
	d, notes := client(t, c, Auto)
	u := urlOf(t, up, "/f")
	written := urlOf(t, up, "/f?hem.layout=rs:4+2")
	want := put(t, c, written, 4, 20<<20)
	f := opened(t, d, u)
	r := f.NewReader(t.Context(), 0, hemera.FileSizeMax)
	got := slices.Clone(next(t, r))
	other := xrootd.New(xrootd.Options{}) // like another process
	defer other.Close()
	newer := put(t, other, written, 5, 20<<20)
	pieces, _ := f.now()
	pieces.Close()
	got = append(got, rest(t, r)...)
	if _, grant := f.now(); !bytes.Equal(got, want) || !f.Direct() || grant == 0 || len(*notes) > 0 {
		t.Errorf("%d bytes, right: %v, direct: %v, grant %d, %q", len(got), bytes.Equal(got, want), f.Direct(), grant, *notes)
	}
	if got := rest(t, opened(t, d, u).NewReader(t.Context(), 0, hemera.FileSizeMax)); !bytes.Equal(got, newer) {
		t.Error("a new reader gets other bytes than the new ones")
	}
}

func next(t *testing.T, r *Reader) []byte {
	t.Helper()
	b, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFirewallBetweenClientAndNodes checks that the file is read through its head, and the next file too, without another
// try. With Always the open fails with a remedy.
func TestFirewallBetweenClientAndNodes(t *testing.T) {
	up, c := nodes(t)
	u := urlOf(t, up, "/f")
	want := put(t, c, urlOf(t, up, "/f?hem.layout=rs:4+2"), 6, 20<<20)
	for _, m := range []Mode{Auto, Always} {
		d, notes := client(t, c, m)
		wall := &scripted{err: errs.New(errs.Unavailable, "connect", "a node", "no route to host")}
		d.reach.Peers = wall
		r := opened(t, d, u).NewReader(t.Context(), 0, hemera.FileSizeMax)
		if m == Always {
			if _, err := r.Next(); !errors.Is(err, errs.NoReplicas) {
				t.Errorf("always: %v", err)
			}
			if _, err := d.Open(t.Context(), u); !errors.Is(err, errs.NoReplicas) || errs.RemedyOf(err) == "" {
				t.Errorf("always, the next file: %v", err)
			}
			continue
		}
		if got := rest(t, r); !bytes.Equal(got, want) || r.file.Direct() || len(*notes) != 1 {
			t.Errorf("%d bytes, direct: %v, notes %q", len(got), r.file.Direct(), *notes)
		}
		tried := wall.count()
		f := opened(t, d, u)
		if got := rest(t, f.NewReader(t.Context(), 0, hemera.FileSizeMax)); !bytes.Equal(got, want) || len(*notes) != 2 || wall.count() != tried {
			t.Errorf("the next file: %d bytes, notes %q, %d opens", len(got), *notes, wall.count()-tried)
		}
	}
}

// TestReaderThatIsLeft checks that a read returns at once when its context ends, and when the reader is closed.
func TestReaderThatIsLeft(t *testing.T) {
	up, c := nodes(t)
	d, _ := client(t, c, Always)
	put(t, c, urlOf(t, up, "/f?hem.layout=rs:4+2&hem.blocksize=64k"), 7, 3<<20)
	f := opened(t, d, urlOf(t, up, "/f"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	r := f.NewReader(ctx, 0, hemera.FileSizeMax)
	next(t, r)
	cancel()
	for { // bytes that have arrived may still be returned
		if _, err := r.Next(); err != nil {
			if !errors.Is(err, errs.Cancelled) && !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of its context: %v", err)
			}
			break
		}
	}
	r = f.NewReader(t.Context(), 0, hemera.FileSizeMax)
	next(t, r)
	_ = r.Close()
	if _, err := r.Next(); err == nil {
		t.Error("a closed reader reads")
	}
	_ = f.Close(t.Context())
	if _, err := f.ReadAt(t.Context(), make([]byte, 5), 0); !errors.Is(err, errs.BadHandle) {
		t.Errorf("a closed file: %v", err)
	}
}

// TestAHeadThatStoppedIsNotWaitedFor checks that a file that was read without its head closes without the head's answer.
func TestAHeadThatStoppedIsNotWaitedFor(t *testing.T) {
	const size = 20 << 20
	closed := make(chan struct{})
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		if r.ID == wire.ReqClose {
			close(closed)
			return nil
		}
		return xrootdtest.Opened(r, size)
	})
	token, err := capability.NewKeyring(hemera.Key{ID: 1, Secret: make([]byte, 32)}).Mint(coded("rs:4+2", size))
	if err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{Stall: time.Hour})
	defer c.Close()
	d, _ := client(t, c, Auto)
	u := s.URL("/f")
	u.Opaque = u.Opaque.With(wire.OpaqueCapability, token)
	f, err := d.Open(t.Context(), u)
	if err != nil || !f.Direct() {
		t.Fatalf("%v, direct: %v", err, f != nil && f.Direct())
	}
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-closed
}
