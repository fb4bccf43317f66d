package transfer_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestDetachedWriteGoesOn(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(40, 2, 1, 2)
	p := content(100_000)
	first := b.begin(1, token)
	if err := first.WritePages(p[:60_000], nil, 0); err != nil {
		t.Fatal(err)
	}
	second := b.open(1, token, hemera.NodeOpen{}) // before the first link is known to be dead
	first.End(ctx, hemera.EndDetach)
	if err := first.WritePages([]byte("late"), nil, 0); !isKind(err, errs.BadHandle) {
		t.Errorf("write through the old handle: %v", err)
	}
	if n := second.Info().Size; n != 60_000 {
		t.Errorf("size after re-open: %d", n)
	}
	if err := second.WritePages(p[50_000:], nil, 50_000); err != nil { // sends again what was not answered
		t.Fatal(err)
	}
	if err := second.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	checkSums(t, b.manager.commit(t, c), p)
	b.mustRead(c, p)

	again := b.open(1, token, hemera.NodeOpen{}) // the answer to close was lost
	if err := again.WritePages([]byte("x"), nil, 0); !isKind(err, errs.BadHandle) {
		t.Errorf("write after commit: %v", err)
	}
	if err := again.End(ctx, hemera.EndClose); err != nil {
		t.Errorf("close again: %v", err)
	}
	if b.manager.commits != 1 {
		t.Errorf("%d commits", b.manager.commits)
	}
}

// TestJoinedTruncation: a truncation beside the writer is part of its write.
func TestJoinedTruncation(t *testing.T) {
	b := newBench(t, 2)
	for i, size := range []int{100, 200_000} { // in memory, in pieces
		token, c := b.grant(44+i, 2, 1, 2)
		first := b.begin(1, token)
		if err := first.WritePages(content(size), nil, 0); err != nil {
			t.Fatal(err)
		}
		if first.Shared() {
			t.Error("shared by one")
		}
		second := b.open(1, token, hemera.NodeOpen{})
		if err := second.Truncate(50); err != nil {
			t.Fatal(err)
		}
		if !second.Shared() {
			t.Error("not shared")
		}
		second.End(ctx, hemera.EndDetach)
		if first.Shared() {
			t.Error("shared when the other has left")
		}
		if err := errors.Join(first.WritePages([]byte("end"), nil, 50), first.End(ctx, hemera.EndClose)); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, append(content(size)[:50:50], "end"...))
	}
}

// TestWritten: who only looks at a write sees its size at each moment, and leaves it as it is.
func TestWritten(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(43, 2, 1, 2)
	sees := func(c hemera.Capability, want int64) {
		t.Helper()
		if i := b.hosts[0].pending.Written(&c); i.Size != want || i.ID != c.File || i.Mode != c.Mode {
			t.Errorf("%+v, not of %d bytes", i, want)
		}
	}
	sees(c, 0)
	if n := b.hosts[0].pending.Len(); n != 0 {
		t.Errorf("%d writes have begun", n)
	}
	f := b.begin(1, token)
	for _, end := range []int{10, 70_000, 200_000} { // in memory, in pieces
		if err := f.WritePages(content(end), nil, 0); err != nil {
			t.Fatal(err)
		}
		sees(c, int64(end))
	}
	if err := f.Truncate(5); err != nil {
		t.Fatal(err)
	}
	sees(c, 5)
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
	sees(c, 5)
	token, u := b.update(c, 2, 1, 2)
	sees(u, 5)
	f = b.open(1, token, hemera.NodeOpen{})
	if err := f.WritePages([]byte("more"), nil, 5); err != nil {
		t.Fatal(err)
	}
	sees(u, 9)
	if err := f.End(ctx, hemera.EndClose); err != nil {
		t.Fatal(err)
	}
}

func TestTruncateStartsOver(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(41, 2, 1, 2)
	f := b.begin(1, token)
	if err := f.WritePages(content(50_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	f.End(ctx, hemera.EndDetach)
	f = b.open(1, token, hemera.NodeOpen{Truncate: true})
	if err := errors.Join(f.WritePages([]byte("new"), nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
		t.Fatal(err)
	}
	b.mustRead(c, []byte("new"))
}

func TestExpiredWriteIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		token, c := b.grant(42, 2, 1, 2)
		f := b.begin(1, token)
		if err := f.WritePages(content(50_000), nil, 0); err != nil {
			t.Fatal(err)
		}
		f.End(ctx, hemera.EndDetach)
		time.Sleep(hemera.PendingHold - time.Second)
		f = b.open(1, token, hemera.NodeOpen{})
		f.End(ctx, hemera.EndDetach)
		time.Sleep(hemera.PendingHold + hemera.KeptLifetime + time.Second)
		synctest.Wait()
		b.hosts[0].host.Wait()
		if b.manager.aborted != 1 || b.hosts[0].pending.Len() != 0 || b.hosts[1].pending.Len() != 0 {
			t.Errorf("aborts %d, pending %d and %d", b.manager.aborted, b.hosts[0].pending.Len(), b.hosts[1].pending.Len())
		}
		// Going on would make a file with holes.
		if _, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
			t.Errorf("open after the hold: %v", err)
		}
		f = b.open(1, token, hemera.NodeOpen{Truncate: true})
		if err := errors.Join(f.WritePages([]byte("abc"), nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, []byte("abc"))
	})
}

func TestRestartedHeadDoesNotGoOn(t *testing.T) {
	b := newBench(t, 1)
	_, c := b.grant(43, 1, 1)
	c.Epoch = 6 // granted under the lease before this process
	token := b.manager.sign(c)
	if _, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
		t.Errorf("open: %v", err)
	}
	f := b.open(1, token, hemera.NodeOpen{Truncate: true})
	if err := f.End(ctx, hemera.EndAbort); err != nil {
		t.Error(err)
	}
}

func TestCommitWaitsForTheManager(t *testing.T) {
	away := errs.New(errs.Unavailable, "rpc", "manager", "away")
	late := errs.New(errs.Timeout, "rpc", "manager", "late")
	for _, c := range []struct {
		name    string
		refuse  []error
		after   error
		commits int
	}{
		{name: "away", refuse: []error{away, away, late}, commits: 4},
		{name: "answer lost", after: late, commits: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 2)
				b.manager.refuse, b.manager.after = c.refuse, c.after
				p := content(10_000)
				capability := b.put(44, p, 1, 2)
				if b.manager.commits != c.commits {
					t.Errorf("%d commits", b.manager.commits)
				}
				b.mustRead(capability, p)
			})
		})
	}
}

// TestManagerAwayTooLong: the close fails, the pieces stay, and a client that comes back commits.
func TestManagerAwayTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		for range 100 {
			b.manager.refuse = append(b.manager.refuse, errs.New(errs.Unavailable, "rpc", "manager", "away"))
		}
		token, c := b.grant(45, 2, 1, 2)
		f := b.begin(1, token)
		p := content(10_000)
		if err := f.WritePages(p, nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.End(ctx, hemera.EndClose); !isKind(err, errs.Unavailable) {
			t.Fatalf("close: %v", err)
		}
		b.mustHave(c, 1, 2)
		b.manager.refuse = nil
		f = b.open(1, token, hemera.NodeOpen{})
		if err := f.WritePages(p, nil, 0); !isKind(err, errs.BadHandle) {
			t.Errorf("write after seal: %v", err)
		}
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, p)
	})
}

// TestALateHeadDoesNotAskAgain: it stood still after it had asked, and nobody knows what became of the file since.
func TestALateHeadDoesNotAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.manager.still, b.manager.after = time.Hour, errs.New(errs.Timeout, "rpc", "manager", "late")
		token, c := b.grant(45, 2, 1, 2)
		f := b.begin(1, token)
		if err := f.WritePages(content(10_000), nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.End(ctx, hemera.EndClose); !isKind(err, errs.Timeout) {
			t.Fatalf("close: %v", err)
		}
		time.Sleep(time.Hour) // the write expires
		if b.manager.commits != 1 {
			t.Errorf("asked %d times", b.manager.commits)
		}
		b.mustHave(c, 1, 2) // the audit knows
	})
}

func TestConflictRemovesPieces(t *testing.T) {
	b := newBench(t, 2)
	b.manager.refuse = []error{errs.New(errs.Conflict, "commit", "", "rewritten")}
	token, c := b.grant(46, 2, 1, 2)
	f := b.begin(1, token)
	if err := f.WritePages(content(10_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.End(ctx, hemera.EndClose); !isKind(err, errs.Conflict) {
		t.Fatalf("close: %v", err)
	}
	b.mustHave(c)
}

// TestRefusalAfterALostAnswer: the manager committed, its answer was lost, and it refuses the same
// commit when asked again. Whatever made it do so, the content of a visible file must stay, and the
// client must not hear that nothing happened.
func TestRefusalAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.manager.after = errs.New(errs.Timeout, "rpc", "manager", "late")
		b.manager.refuse = []error{nil, errs.New(errs.Conflict, "commit", "", "rewritten")}
		token, c := b.grant(48, 2, 1, 2)
		f := b.begin(1, token)
		p := content(10_000)
		if err := f.WritePages(p, nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.End(ctx, hemera.EndClose); errs.KindOf(err) != errs.Unavailable {
			t.Fatalf("close: %v", err)
		}
		b.mustHave(c, 1, 2)
		b.manager.commit(t, c)
	})
}

func TestUpdate(t *testing.T) {
	old := content(2<<20 + 5000)
	patched := bytes.Clone(old)
	copy(patched[1000:], "patch")
	for _, c := range []struct {
		name   string
		change func(f hemera.File) error
		want   []byte // nil: nothing is committed
	}{
		{"nothing", func(hemera.File) error { return nil }, nil},
		{"patch", func(f hemera.File) error { return f.WritePages([]byte("patch"), nil, 1000) }, patched},
		{"append", func(f hemera.File) error { return f.WritePages([]byte("more"), nil, int64(len(old))) }, append(bytes.Clone(old), "more"...)},
		{"cut", func(f hemera.File) error { return f.Truncate(5000) }, old[:5000]},
		{"grow", func(f hemera.File) error { return f.Truncate(int64(len(old)) + 5000) }, append(bytes.Clone(old), make([]byte, 5000)...)},
		{"empty", func(f hemera.File) error { return f.Truncate(0) }, []byte{}},
		{"over", func(f hemera.File) error { return errors.Join(f.Truncate(0), f.WritePages([]byte("all new"), nil, 0)) }, []byte("all new")},
		{"attribute", func(f hemera.File) error { f.(hemera.XattrSetter).SetXattr("user.a", []byte("b")); return nil }, old},
	} {
		for _, on := range [][]int{{1, 2}, {3, 4}, {2, 1}} { // with the base at the head and without
			b := newMemoryBench(t, 4)
			base := b.put(50, old, 1, 2)
			token, capability := b.update(base, 2, on...)
			f := b.open(on[0], token, hemera.NodeOpen{})
			got, err := io.ReadAll(io.NewSectionReader(readerAt{f}, 0, 4<<20))
			if err != nil || !bytes.Equal(got, old) {
				t.Fatalf("%s: read before: %d bytes, %v", c.name, len(got), err)
			}
			if err := errors.Join(c.change(f), f.End(ctx, hemera.EndClose)); err != nil {
				t.Fatalf("%s on %v: %v", c.name, on, err)
			}
			b.mustRead(base, old) // readers of the old content keep it
			if c.want == nil {
				if b.manager.commits != 1 || b.manager.aborted != 1 {
					t.Errorf("%s: %d commits, %d aborts", c.name, b.manager.commits, b.manager.aborted)
				}
				continue
			}
			checkSums(t, b.manager.commit(t, capability), c.want)
			b.mustRead(capability, c.want)
		}
	}
}

// TestUpdateOfAnotherContent: a piece of the base's name, size and generation with another content is not what the
// update begins from, at the head or at another node.
func TestUpdateOfAnotherContent(t *testing.T) {
	for head := 1; head <= 2; head++ {
		b := newMemoryBench(t, 2)
		old := content(100_000)
		base := b.put(51, old, 1)
		token, _ := b.update(base, 1, head)
		id := hemera.PieceID{File: base.File, Gen: base.Gen}
		w, err := b.hosts[0].disk.Create(id, disk.CreateOptions{Layout: base.Layout, Replace: true})
		if err != nil {
			t.Fatal(err)
		}
		other := bytes.Clone(old)
		other[0]++
		if err := w.WritePages(other, nil, 0); err != nil {
			t.Fatal(err)
		}
		sum := hemera.Checksum{Kind: hemera.Adler32, Value: [32]byte{1, 2, 3, 4}}
		if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(old)), Checksums: []hemera.Checksum{sum}}); err != nil {
			t.Fatal(err)
		}
		f := b.open(head, token, hemera.NodeOpen{})
		if n, err := f.ReadPages(make([]byte, 100), nil, 0); err == nil {
			t.Errorf("head %d: %d bytes of another content are read", head, n)
		}
		_ = f.End(ctx, hemera.EndDetach)
	}
}

// TestForgottenWriteDoesNotGoOn: a client whose write was aborted so long ago that nobody remembers it
// must not begin in the middle of an empty file.
func TestForgottenWriteDoesNotGoOn(t *testing.T) {
	b := newBench(t, 1)
	token, c := b.grant(49, 1, 1)
	if _, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
		t.Errorf("open of a new file that does not empty it: %v", err)
	}
	f := b.begin(1, token)
	if err := errors.Join(f.WritePages([]byte("abc"), nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
		t.Fatal(err)
	}
	b.mustRead(c, []byte("abc"))
}

// TestANodeThatStopsSaysWhatBecameOfWrites: a client that continues a write learns that it has to start over, which
// another node will take.
func TestANodeThatStopsSaysWhatBecameOfWrites(t *testing.T) {
	b := newBench(t, 2)
	token, c := b.grant(46, 2, 1, 2)
	f := b.begin(1, token)
	if err := f.WritePages(content(10_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	b.hosts[0].pending.Settle(ctx)
	for what, err := range map[string]error{"write": f.WritePages(content(10), nil, 10_000), "close": f.End(ctx, hemera.EndClose)} {
		if !isKind(err, errs.Conflict) || errs.RemedyOf(err) != "write the file again from its beginning" {
			t.Errorf("%s: %v; %s", what, err, errs.RemedyOf(err))
		}
	}
	b.mustHave(c)
}
