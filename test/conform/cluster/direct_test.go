package cluster

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/client/copy"
	"hemera/client/direct"
	"hemera/client/pieces"
	"hemera/client/xrootd"
	"hemera/platform/vfs"
	"hemera/process/daemon"
	"hemera/words/hemera"
)

// directLayouts are the layouts that a client reads from several nodes by itself, and whether they survive the loss of
// one.
var directLayouts = map[string]bool{"rs:4+2": true, "lrc:3+1+1": true, "stripe:4": false}

// member is a node of a cluster, and what ends it.
type member struct {
	*daemon.Node
	stop func()
}

// tenNodes run a manager and ten nodes with a disk each, as processes of their own would.
func tenNodes(t *testing.T) (*joined, map[hemera.NodeID]member) {
	t.Helper()
	j := startManager(t)
	members := map[hemera.NodeID]member{}
	for range 10 {
		n, err := j.open(t.TempDir(), j.token(0))
		if err != nil {
			t.Fatal(err)
		}
		stop := j.run(n)
		members[n.ID()] = member{n, stop}
	}
	until(t, "the disks are there", func() bool {
		v, err := j.manager.Admin.View(t.Context())
		writable := 0
		for _, d := range v.Disks {
			if d.Writable() {
				writable++
			}
		}
		return err == nil && writable == 10
	})
	return j, members
}

// TestDirectWriteSurvivesANode: a node with a piece ends while a client writes to it and the others. Another disk takes the
// piece, and the file is whole.
func TestDirectWriteSurvivesANode(t *testing.T) {
	t.Parallel()
	j, members := tenNodes(t)
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	d := direct.New(c, direct.Options{Mode: direct.Always})
	t.Cleanup(func() { _ = d.Close() })
	for _, layout := range []string{"rs:4+2", "lrc:3+1+1"} {
		path := "/" + layout
		want := content(path, 24<<20+5)
		w, err := d.Create(t.Context(), urlAt(t, j.manager.Addr, path+"?hem.layout="+layout), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: int64(len(want))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(want[:12<<20]); err != nil || !w.Direct() {
			t.Fatalf("direct %v, %v", w.Direct(), err)
		}
		// The head has the write and perhaps a piece; a node that has one work has a piece.
		for id, m := range members {
			if m.Status().Pending == 1 && !strings.HasSuffix(w.Head(), m.Addr) {
				m.stop()
				delete(members, id)
				break
			}
		}
		if _, err := w.Write(want[12<<20:]); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, failed := j.manager.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), path)
		l, _ := hemera.ParseLayout(layout, 0)
		if failed != nil || len(info.Pieces) != int(l.Pieces) {
			t.Errorf("%s: %d pieces, %v", layout, len(info.Pieces), failed)
		}
		for _, p := range info.Pieces {
			if _, runs := members[p.Disk.Node]; !runs {
				t.Errorf("%s: piece %d is on node %d, which has ended", layout, p.Piece.Index, p.Disk.Node)
			}
		}
		var got bytes.Buffer
		f, err := c.Open(t.Context(), urlAt(t, j.manager.Addr, path), xrootd.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&got, f.NewReader(t.Context(), 0, hemera.FileSizeMax)); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %d of %d bytes, %v", layout, got.Len(), len(want), err)
		}
		_ = f.Close(t.Context())
	}
}

// TestDirectReadSurvivesANode: a node with data ends while a client reads from it and the others. What has parity is read to
// its end, what has none is an error.
func TestDirectReadSurvivesANode(t *testing.T) {
	t.Parallel()
	j, members := tenNodes(t)
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	d := direct.New(c, direct.Options{Mode: direct.Always})
	t.Cleanup(func() { _ = d.Close() })
	for layout, survives := range directLayouts {
		path := "/" + layout
		want := content(path, 24<<20+5)
		write(t, c, urlAt(t, j.manager.Addr, path+"?hem.layout="+layout), want)
		f, err := d.Open(t.Context(), urlAt(t, j.manager.Addr, path))
		if err != nil {
			t.Fatal(err)
		}
		r := f.NewReader(t.Context(), 0, hemera.FileSizeMax)
		b, err := r.Next()
		got := bytes.Clone(b)
		// With the first bytes here a small part of the file is on its way, so all pieces are needed later.
		info, failed := j.manager.Maint.FileInfo(t.Context(), hemera.SystemIdentity(), path)
		if failed != nil {
			t.Fatal(failed)
		}
		for _, p := range info.Pieces {
			if p.Piece.Index == 2 {
				members[p.Disk.Node].stop()
			}
		}
		for err == nil {
			b, err = r.Next()
			got = append(got, b...)
		}
		if whole := err == io.EOF && bytes.Equal(got, want); whole != survives || !survives && !bytes.Equal(got, want[:len(got)]) {
			t.Errorf("%s: %d of %d bytes, the right ones: %v, %v", layout, len(got), len(want), whole, err)
		}
		_ = r.Close()
		_ = f.Close(t.Context())
	}
}

// TestDirectReadOfADamagedPiece: the client computes what a bad page had from the other pieces, and the piece's node has it
// repaired, though no head has met it.
func TestDirectReadOfADamagedPiece(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, 6, 6)
	files := map[string]string{} // of the pieces that were damaged, by path
	for _, layout := range []string{"rs:4+2", "lrc:3+1+1"} {
		path := "/" + layout
		write(t, r.client, r.url(path+"?hem.layout="+layout), content(path, 20<<20+99))
		files[path] = r.byIndex(path)[1]
		flip(t, files[path], 1_234_567)
	}
	r.stop()
	r = start(t, dir, 6, 6) // nothing of the pieces is in memory
	until(t, "all disks are there", func() bool {
		writable := 0
		for _, d := range r.view().Disks {
			if d.Writable() {
				writable++
			}
		}
		return writable == 6
	})
	for path, damaged := range files {
		before := r.sent()
		to := filepath.Join(t.TempDir(), "copy")
		o := copy.Options{Verify: copy.VerifyAlways, Direct: direct.Options{Mode: direct.Always}}
		url := r.url(path)
		if _, err := copy.Run(t.Context(), r.client, []string{url.String()}, to, o); err != nil {
			t.Fatal(err)
		}
		want := content(path, 20<<20+99)
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes that differ, %v", path, len(got), err)
		}
		// A node that had been the head would have sent all of the file.
		for i, n := range r.sent() {
			if n-before[i] >= int64(len(want)) {
				t.Errorf("%s: node %d sent %d bytes", path, i+1, n-before[i])
			}
		}
		until(t, fmt.Sprintf("the piece of %s is repaired", path), func() bool {
			checked, err := pieces.Check(t.Context(), vfs.OS{}, damaged, nil)
			return err == nil && checked.Good()
		})
	}
}

// sent returns the bytes that each node has sent.
func (r *rig) sent() (list []int64) {
	for _, n := range r.up.Nodes {
		list = append(list, n.Counters().ReadBytes.Load())
	}
	return list
}
