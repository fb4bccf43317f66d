package cluster

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"hemera/client/xrootd"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// TestUpdatesOfAllLayouts: each update begins at the disks as a copy of the one before, and the checksum of the file follows
// from the old one. So mistakes would add up: after many steps the bytes, the checksum and every piece must be right.
func TestUpdatesOfAllLayouts(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 7, 7)
	for _, layout := range []string{"plain", "replica:2", "stripe:3", "rs:4+2", "lrc:4+2+1"} {
		u := &updated{rig: r, path: "/" + layout, want: content(layout, 3<<20+17)}
		write(t, r.client, r.url(u.path+"?hem.layout="+layout+"&hem.blocksize=64k"), u.want)
		u.change("the middle", 1<<20+5, 4096)
		u.change("a whole row", 1<<20, 256<<10)
		u.change("the end", len(u.want)-3, 3)
		u.change("behind the end", len(u.want), 100_000)
		u.change("far behind the end", len(u.want)+300_000, 5000)
		u.cut("within a page", 2<<20+1234)
		u.cut("longer", 2<<20+500_000)
		u.cut("to the begin", 100)
		u.change("of what is short now", 50, 200_000)
		u.check("at last")
	}
	report, err := r.up.Manager.Maint.Fsck(t.Context(), false)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the audit says %+v, %v", report, err)
	}
}

// updated is a file and what it should have.
type updated struct {
	*rig
	path string
	want []byte
}

// change writes n bytes at an offset, in an update of its own.
func (u *updated) change(what string, off, n int) {
	u.t.Helper()
	p := content(fmt.Sprint(u.path, off), n)
	u.update(what, func(f *xrootd.File) error { return f.WriteAt(u.t.Context(), p, int64(off)) })
	u.want = append(u.want, make([]byte, max(0, off+n-len(u.want)))...)
	copy(u.want[off:], p)
	u.check(what)
}

// cut truncates the file, in an update of its own.
func (u *updated) cut(what string, size int) {
	u.t.Helper()
	u.update(what, func(f *xrootd.File) error { return f.Truncate(u.t.Context(), int64(size)) })
	u.want = append(u.want, make([]byte, max(0, size-len(u.want)))...)[:size]
	u.check(what)
}

func (u *updated) update(what string, do func(f *xrootd.File) error) {
	u.t.Helper()
	f, err := u.client.Open(u.t.Context(), u.url(u.path), xrootd.OpenOptions{Write: true})
	if err == nil {
		err = do(f)
	}
	if err == nil {
		err = f.Close(u.t.Context())
	}
	if err != nil {
		u.t.Fatalf("%s, %s: %v", u.path, what, err)
	}
}

// check reads the file back, and compares its checksum, which nobody made from all of the bytes. Every page of every piece is
// compared with its own.
func (u *updated) check(what string) {
	u.t.Helper()
	read(u.t, u.client, u.url(u.path), u.want)
	sum, err := u.client.Checksum(u.t.Context(), u.url(u.path), hemera.Adler32)
	want, _ := checksum.Of(hemera.Adler32, u.want)
	if err != nil || sum != want {
		u.t.Errorf("%s, %s: %v, %v, want %v", u.path, what, sum, err, want)
	}
	checks, err := u.up.Manager.Maint.CheckFile(u.t.Context(), u.path, false)
	if err != nil || len(checks) == 0 {
		u.t.Errorf("%s, %s: %+v, %v", u.path, what, checks, err)
	}
	for _, c := range checks {
		if !c.OK {
			u.t.Errorf("%s, %s: %+v", u.path, what, c)
		}
	}
}

// TestAnUpdateKeepsABadPage: a bit flips in a piece of the base. The update of another place does not read it, and the piece
// of the new content has it too. A reader gets the right bytes, and the page is repaired.
func TestAnUpdateKeepsABadPage(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 4, 4)
	for _, layout := range []string{"replica:2", "rs:2+1"} {
		u := &updated{rig: r, path: "/" + layout, want: content(layout, 1<<20)}
		write(t, r.client, r.url(u.path+"?hem.layout="+layout+"&hem.blocksize=64k"), u.want)
		flip(t, r.byIndex(u.path)[0], 5000)
		before, err := os.ReadFile(r.byIndex(u.path)[0])
		if err != nil {
			t.Fatal(err)
		}
		p := []byte("changed")
		u.update("another page", func(f *xrootd.File) error { return f.WriteAt(t.Context(), p, 600_000) })
		copy(u.want[600_000:], p)
		b, err := os.ReadFile(r.byIndex(u.path)[0])
		if err != nil {
			t.Fatal(err)
		}
		// It may have been repaired by now, if somebody has read it.
		if page := b[4096:8192]; !bytes.Equal(page, before[4096:8192]) && !bytes.Equal(page, u.want[4096:8192]) {
			t.Errorf("%s: the page is neither what the base has nor what it should be", layout)
		}
		read(t, r.client, r.url(u.path), u.want)
		if checks, err := r.up.Manager.Maint.CheckFile(t.Context(), u.path, true); err != nil {
			t.Errorf("%s: %+v, %v", layout, checks, err)
		}
		u.check("repaired")
	}
}
