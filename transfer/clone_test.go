package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// updates tests an update of 1 MiB of several layouts, on real files, with one host more than there are pieces.
func updates(t *testing.T, test func(t *testing.T, u *update)) {
	for _, l := range []hemera.Layout{hemera.Plain(), hemera.Replica(2), hemera.ReedSolomon(4, 2), hemera.Stripe(3)} {
		t.Run(l.String(), func(t *testing.T) {
			b := newBench(t, int(l.Pieces)+1)
			b.layout, b.kinds = l, []hemera.ChecksumKind{hemera.Adler32}
			if l.Coded() {
				b.layout.BlockSize = 64 << 10
			}
			u := &update{bench: b, t: t, want: content(1<<20 + 5), on: first(int(l.Pieces))}
			u.base = b.put(70, u.want, u.on...)
			u.token, u.cap = b.update(u.base, int(l.Data), u.on...)
			test(t, u)
		})
	}
}

// update is one update and what its content should be.
type update struct {
	*bench
	t     *testing.T
	on    []int // hosts
	base  hemera.Capability
	token string
	cap   hemera.Capability
	want  []byte
}

// change writes n bytes over part of the content, and closes the update.
func (u *update) change(off, n int) {
	u.t.Helper()
	f := u.open(1, u.token, hemera.NodeOpen{})
	p := content(n + 1)[1:]
	if err := f.WritePages(p, nil, int64(off)); err != nil {
		u.t.Fatal(err)
	}
	copy(u.want[off:], p)
	if err := f.End(ctx, hemera.EndClose); err != nil {
		u.t.Fatal(err)
	}
}

// check compares checksums and content with what they should be.
func (u *update) check() {
	u.t.Helper()
	checkSums(u.t, u.manager.commit(u.t, u.cap), u.want)
	u.mustRead(u.cap, u.want)
}

// moved returns the number of bytes that passed between nodes, and between them and their disks.
func (u *update) moved() (n int64) {
	for _, h := range u.hosts {
		n += h.disk.bytes.Load()
	}
	return n + u.peers.bytes.Load()
}

// TestAnUpdateMovesWhatChanged: of a small change of a large file nothing else passes between nodes, and nothing else is
// written, or read back for checksums or parity.
func TestAnUpdateMovesWhatChanged(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		before := u.moved()
		u.change(1<<19+100, 4096)
		// The old and the new bytes, at each piece that has them or their parity, there and on the way.
		if n := u.moved() - before; n > 24*4096 {
			t.Errorf("a change of 4096 bytes moved %d", n)
		}
		u.check()
	})
}

// TestAttributesMoveNothing: a new generation of the same content.
func TestAttributesMoveNothing(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		before := u.moved()
		f := u.open(1, u.token, hemera.NodeOpen{})
		f.(hemera.XattrSetter).SetXattr("user.a", []byte("b"))
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		if n := u.moved() - before; n > 0 {
			t.Errorf("it moved %d bytes", n)
		}
		u.check()
	})
}

// TestAnUpdateWithoutCopies: where a disk makes no copies, or fails to, the piece comes another way.
func TestAnUpdateWithoutCopies(t *testing.T) {
	for name, spoil := range map[string]func(u *update){
		"old disks":              func(u *update) { u.hosts[0].disk.old, u.hosts[len(u.on)-1].disk.old = true, true },
		"an old peer":            func(u *update) { u.peers.fail(len(u.on), &fault{step: "clone", err: unknown()}) },
		"a disk that breaks":     func(u *update) { u.hosts[len(u.on)-1].disk.fault = &fault{step: "clone", err: broken()} },
		"a peer that goes":       func(u *update) { u.peers.fail(len(u.on), &fault{step: "clone", err: errGone}) },
		"a target without bytes": func(u *update) { u.elsewhere() },
	} {
		t.Run(name, func(t *testing.T) {
			updates(t, func(t *testing.T, u *update) {
				u.manager.spare = []int{len(u.on) + 1}
				spoil(u)
				l := u.cap.Layout
				if lost := name == "a disk that breaks" || name == "a peer that goes" && len(u.on) > 1; lost && l.Pieces == l.Data {
					t.Skip("no piece can be lost")
				}
				u.change(1<<19+100, 4096)
				for _, h := range u.hosts {
					h.disk.fault = nil
				}
				u.peers.fail(len(u.on), nil)
				u.check()
			})
		})
	}
}

func unknown() error { return errs.New(errs.Unsupported, "clone", "", "no plugin answers this query") }
func broken() error  { return errs.New(errs.IO, "clone", "", "broken") }

// elsewhere moves the last target of an update to a host that has nothing of its base.
func (u *update) elsewhere() {
	u.on[len(u.on)-1] = len(u.hosts)
	u.token, u.cap = u.bench.update(u.base, int(u.base.Layout.Data), u.on...)
}

// TestABadPageOfTheBaseIsFound: where blocks are shared the page is not read by an update of others, and is found, and served
// from elsewhere, afterwards as before. Where they are copied it is found then, and made from the others.
func TestABadPageOfTheBaseIsFound(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		if u.base.Layout.Pieces == u.base.Layout.Data {
			t.Skip("no page can be lost")
		}
		u.flip(u.base, 1, 40_000)
		u.change(1<<19+100, 4096)
		id := hemera.PieceID{File: u.cap.File, Gen: u.cap.Gen}
		r, err := u.hosts[0].disk.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if bad, err := r.Verify(); err != nil || len(bad) > 1 {
			t.Errorf("pages %v are bad, %v", bad, err)
		}
		u.check()
	})
}

// TestAPageThatCannotBeMade: it is bad in more pieces of the base than the layout can lose, where no blocks are shared. The update
// is refused before it is acknowledged, so what is good again later is there.
func TestAPageThatCannotBeMade(t *testing.T) {
	for _, l := range []hemera.Layout{hemera.Plain(), hemera.Replica(2), hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Local(4, 2, 1), hemera.Stripe(3)} {
		t.Run(l.String(), func(t *testing.T) {
			b := makeBench(t, int(l.Pieces)+1, func() (vfs.FS, string) {
				disk := vfs.NewFaulty(vfs.OS{})
				disk.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpClone}, Err: syscall.EOPNOTSUPP})
				return disk, t.TempDir()
			})
			b.layout, b.kinds = l, []hemera.ChecksumKind{hemera.Adler32}
			if l.Coded() {
				b.layout.BlockSize = 64 << 10
			}
			b.manager.spare = []int{int(l.Pieces) + 1}
			old := content(1<<20 + 5)
			on := first(int(l.Pieces))
			base := b.put(70, old, on...)
			bad := on
			if l.Coded() {
				bad = on[:l.Parity()+1]
			}
			flip := func() {
				for _, id := range bad {
					b.flip(base, id, 40_000)
				}
			}
			flip()
			token, c := b.update(base, int(l.Data), on...)
			f := b.open(1, token, hemera.NodeOpen{})
			err := f.WritePages([]byte("elsewhere"), nil, 900_000)
			if err == nil {
				err = f.Sync(ctx)
			}
			if err == nil {
				err = f.End(ctx, hemera.EndClose)
			}
			if err == nil {
				t.Fatal("the update is acknowledged")
			}
			_ = f.End(ctx, hemera.EndAbort)
			b.mustHave(c)
			flip()
			b.mustRead(base, old)
		})
	}
}

// TestAPageThatIsTouched: the same where blocks are shared. An update that changes a part of the page, or lets the last one grow, is
// refused; so is one of the whole page, where its parity needs the old bytes. The content before it is there, once it is good again.
func TestAPageThatIsTouched(t *testing.T) {
	const size, page, last = 1<<20 + 5, 36_864, 1 << 20
	for _, l := range []hemera.Layout{hemera.Plain(), hemera.Replica(2), hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Local(4, 2, 1), hemera.Stripe(3)} {
		for name, c := range map[string]struct {
			bad, off int64 // in the content
			n        int
			good     bool // it is written over whole
		}{
			"a part": {page + 7, page + 100, 10, false}, "over its begin": {page + 7, page - 3, 10, false}, "all of it": {page + 7, page, hemera.PageSize, !l.Coded() || l.Parity() == 0},
			"more behind the last": {last, size, 10, false}, "growth": {last, size + 100, 1, false},
		} {
			t.Run(l.String()+"/"+name, func(t *testing.T) {
				b, disks := onMemory(t, int(l.Pieces))
				b.layout, b.kinds = l, []hemera.ChecksumKind{hemera.Adler32}
				if l.Coded() {
					b.layout.BlockSize = 64 << 10
				}
				old := content(size)
				on := first(int(l.Pieces))
				base := b.put(70, old, on...)
				flip := func() {
					for i := range on {
						at, mine := c.bad, true
						if block := int64(b.layout.BlockSize); l.Coded() { // the same place of the row in each piece, as far as it is there
							row := int64(l.Data) * block
							at, mine = c.bad/row*block+c.bad%block, l.Parity() > 0 || c.bad%row/block == int64(i)
						}
						if mine && at < layout.PieceSize(base.Layout, size, uint8(i)) {
							flipIn(t, disks[i], base, at)
						}
					}
				}
				flip()
				token, next := b.update(base, int(l.Data), on...)
				f := b.open(1, token, hemera.NodeOpen{})
				p := bytes.Repeat([]byte("x"), c.n)
				err := f.WritePages(p, nil, c.off)
				if err == nil {
					err = f.Sync(ctx)
				}
				if err == nil {
					err = f.End(ctx, hemera.EndClose)
				} else {
					_ = f.End(ctx, hemera.EndAbort)
				}
				if c.good {
					copy(old[c.off:], p)
					if err != nil {
						t.Fatal(err)
					}
					b.mustRead(next, old)
					return
				}
				if err == nil {
					t.Fatal("the update is acknowledged")
				}
				b.mustHave(next)
				flip()
				b.mustRead(base, old)
			})
		}
	}
}

// TestBadPagesOfOtherRows: what was readable before an update is readable after it, or the update is refused before it is acknowledged.
// A page that is bad costs the whole piece, and there are bad pages in other pieces, of the same row and of others.
func TestBadPagesOfOtherRows(t *testing.T) {
	const block, size = 64 << 10, 1<<20 + 5
	for _, l := range []hemera.Layout{hemera.ReedSolomon(2, 1), hemera.ReedSolomon(4, 2), hemera.Local(4, 2, 1), hemera.Replica(2)} {
		for name, c := range map[string]struct {
			row   int64 // where as many other pieces are bad as the layout can lose
			spare int
			first int // the piece that is bad where the change is
		}{
			"the same row": {0, 0, int(l.Pieces) - 1}, "the same row, spare": {0, 1, int(l.Pieces) - 1},
			"another row": {1, 0, int(l.Pieces) - 1}, "another row, spare": {1, 1, int(l.Pieces) - 1},
			"a data page, another row": {1, 0, 0}, "a data page, another row, spare": {1, 1, 0},
		} {
			t.Run(l.String()+"/"+name, func(t *testing.T) {
				b, disks := onMemory(t, int(l.Pieces)+c.spare)
				b.layout, b.kinds = l, []hemera.ChecksumKind{hemera.Adler32}
				if l.Coded() {
					b.layout.BlockSize = block
				}
				if c.spare > 0 {
					b.manager.spare = []int{int(l.Pieces) + 1}
				}
				old := content(size)
				on := first(int(l.Pieces))
				base := b.put(70, old, on...)
				flip := func() {
					flipIn(t, disks[c.first], base, 100)
					for n, i := 0, 1; n < l.Losses() && i < int(l.Pieces); i++ {
						if i != c.first {
							flipIn(t, disks[i], base, c.row*block+100)
							n++
						}
					}
				}
				flip()
				token, next := b.update(base, int(l.Data), on...)
				f := b.open(1, token, hemera.NodeOpen{})
				p := bytes.Repeat([]byte("x"), 10)
				err := f.WritePages(p, nil, 50)
				if err == nil {
					err = f.End(ctx, hemera.EndClose)
				} else {
					_ = f.End(ctx, hemera.EndAbort)
				}
				if err == nil {
					copy(old[50:], p)
					made := b.manager.commit(t, next).Pieces
					next.Targets = slices.DeleteFunc(next.Targets, func(t hemera.Target) bool {
						return !slices.Contains(made, hemera.Piece{Index: t.Index, Disk: t.Disk})
					})
					b.mustRead(next, old)
					return
				}
				if errs.KindOf(err) != errs.Corrupt {
					t.Error(err)
				}
				b.mustHave(next)
				flip()
				b.mustRead(base, old)
			})
		}
	}
}

// onMemory makes a bench of hosts whose disks are in memory, at /d, and share blocks.
func onMemory(t *testing.T, n int) (b *bench, disks []vfs.FS) {
	b = makeBench(t, n, func() (vfs.FS, string) {
		m := vfs.NewMemory(64<<20, time.Now)
		if err := m.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		disks = append(disks, m)
		return m, "/d"
	})
	return b, disks
}

// flipIn flips a bit of the piece of a content on a disk at /d.
func flipIn(t *testing.T, disk vfs.FS, c hemera.Capability, at int64) {
	t.Helper()
	folders, err := disk.ReadDir("/d")
	for _, folder := range folders {
		names, _ := disk.ReadDir("/d/" + folder)
		for _, name := range names {
			if !strings.HasPrefix(name, fmt.Sprintf("%08x.%x.", uint64(c.File), uint64(c.Gen))) {
				continue
			}
			var one [1]byte
			f, err := disk.Open("/d/"+folder+"/"+name, os.O_RDWR)
			if err == nil {
				_, err = f.ReadAt(one[:], at)
				one[0] ^= 4
				_, err2 := f.WriteAt(one[:], at)
				err = errors.Join(err, err2, f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no piece in %v, %v", folders, err)
}

// TestABadPageIsNotMadeGood: a change of part of a bad page costs the piece, which is made again from the others.
func TestABadPageIsNotMadeGood(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		if u.base.Layout.Pieces == u.base.Layout.Data {
			t.Skip("no page can be lost")
		}
		u.manager.spare = []int{len(u.hosts)}
		u.flip(u.base, 1, 40_000)
		u.change(40_100, 10)
		u.check()
	})
}

// TestABadFooterOfTheBase: a piece whose footer is not what was committed is not copied.
func TestABadFooterOfTheBase(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		if u.base.Layout.Pieces == u.base.Layout.Data {
			t.Skip("no piece can be lost")
		}
		id := hemera.PieceID{File: u.base.File, Gen: u.base.Gen, Index: uint8(len(u.on) - 1)}
		store := u.hosts[len(u.on)-1].disk
		if err := store.Remove(id); err != nil {
			t.Fatal(err)
		}
		p := content(5000)
		w, err := store.Create(id, disk.CreateOptions{Layout: u.base.Layout})
		if err == nil {
			err = w.WritePages(p, nil, 0)
		}
		if err == nil {
			_, err = w.Seal(hemera.SealInfo{FileSize: 5000})
		}
		if err != nil {
			t.Fatal(err)
		}
		u.change(1<<19+100, 4096)
		u.check()
	})
}

// TestTheBaseGoesMeanwhile: pieces that are removed while an update is under way are not needed any more.
func TestTheBaseGoesMeanwhile(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		f := u.open(1, u.token, hemera.NodeOpen{})
		if err := f.WritePages([]byte("x"), nil, 77); err != nil {
			t.Fatal(err)
		}
		u.want[77] = 'x'
		for i, id := range u.on {
			if err := u.hosts[id-1].disk.Remove(hemera.PieceID{File: u.base.File, Gen: u.base.Gen, Index: uint8(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		u.check()
	})
}

// TestAnAbortedUpdateLeavesTheBase: nothing of the update is left, and all of the base.
func TestAnAbortedUpdateLeavesTheBase(t *testing.T) {
	updates(t, func(t *testing.T, u *update) {
		f := u.open(1, u.token, hemera.NodeOpen{})
		if err := f.WritePages([]byte("x"), nil, 77); err != nil {
			t.Fatal(err)
		}
		if err := f.End(ctx, hemera.EndAbort); err != nil {
			t.Fatal(err)
		}
		u.mustHave(u.cap)
		u.mustRead(u.base, u.want)
	})
}

// TestADiskHangsInACopy: a disk that does not answer while a piece begins costs the update that piece, which moves to another
// disk; so does one that answers late. Nothing is left of it then.
func TestADiskHangsInACopy(t *testing.T) {
	for name, hang := range map[string]vfs.Fault{
		"shared blocks": {Ops: []vfs.Op{vfs.OpClone}, Err: syscall.EIO},
		"late":          {Ops: []vfs.Op{vfs.OpClone}},
		"the length":    {Ops: []vfs.Op{vfs.OpTruncate}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, faulty := hangingBench(t, 4)
				synctest.Wait()
				b.manager.spare = []int{4}
				u := &update{bench: b, t: t, want: content(300_000)}
				u.base = b.put(70, u.want, 1, 2, 3)
				u.token, u.cap = b.update(u.base, 1, 1, 2, 3)
				release := make(chan struct{})
				hang.Wait = release
				faulty.Inject(hang)
				began := time.Now()
				u.change(100_000, 5000)
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("it took %v", took)
				}
				faulty.Heal()
				close(release)
				synctest.Wait()
				if names, err := faulty.ReadDir("/disk/pending"); err != nil || len(names) > 0 {
					t.Errorf("left on the disk: %v, %v", names, err)
				}
				b.mustHave(u.cap, 2, 3, 4)
				u.check()
			})
		})
	}
}
