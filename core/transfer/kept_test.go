package transfer_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/core/transfer"
	"hemera/errs"
)

// keep leaves a write behind that is kept.
func (b *bench) keep(token string, write func(f hemera.File) error) {
	b.t.Helper()
	f := b.begin(1, token)
	if err := write(f); err != nil {
		b.t.Fatal(err)
	}
	f.End(ctx, hemera.EndDetach)
	time.Sleep(hemera.PendingHold + time.Second)
	synctest.Wait()
	if n := b.hosts[0].pending.Kept(); n == 0 {
		b.t.Fatal("nothing is kept")
	}
}

// TestAPersonDecidesAboutAKeptWrite: it is committed as it is, whatever was announced, or removed.
func TestAPersonDecidesAboutAKeptWrite(t *testing.T) {
	part, size := content(200_000), int64(300_000)
	writes := map[string]struct {
		announced int64
		do        func(hemera.File) error
	}{
		"written":              {0, func(f hemera.File) error { return f.WritePages(part, nil, 0) }},
		"announced":            {size, func(f hemera.File) error { return f.WritePages(part, nil, 0) }},
		"announced and synced": {size, func(f hemera.File) error { return errors.Join(f.WritePages(part, nil, 0), f.Sync(ctx)) }},
	}
	for kind, layout := range map[string]hemera.Layout{"copies": hemera.Replica(2), "coded": small(hemera.ReedSolomon(2, 1))} {
		for name, w := range writes {
			for _, commit := range []bool{true, false} {
				t.Run(kind+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := newMemoryBench(t, 3)
						b.layout = layout
						_, c := b.grant(90, 2, 1, 2, 3)
						token, c := b.announce(c, w.announced)
						b.keep(token, w.do)
						if _, err := b.hosts[0].Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
							t.Errorf("a client that comes back too late: %v", err)
						}
						i, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, commit)
						if err != nil || i.State != hemera.WriteKept || i.Written != int64(len(part)) || i.Path != c.Path {
							t.Fatalf("%+v, %v", i, err)
						}
						b.hosts[0].host.Wait()
						if n := b.hosts[0].pending.Len(); n != 0 || b.manager.aborted != 1 {
							t.Errorf("%d pending, %d aborts", n, b.manager.aborted)
						}
						if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, commit); !isKind(err, errs.NotFound) {
							t.Errorf("again: %v", err)
						}
						if !commit {
							b.mustHave(c)
							return
						}
						if r := b.manager.commit(t, c); !r.Left || !r.Kept || r.Size != int64(len(part)) {
							t.Errorf("%d bytes, left: %v, kept: %v", r.Size, r.Left, r.Kept)
						}
						b.mustRead(c, part)
					})
				})
			}
		}
	}
}

// TestAKeptSmallContentIsOnDisks: a content that waited in memory leaves it when it is kept.
func TestAKeptSmallContentIsOnDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		token, c := b.grant(91, 2, 1, 2)
		b.keep(token, func(f hemera.File) error { return f.WritePages([]byte("abc"), nil, 0) })
		if n := b.hosts[1].pending.Len(); n != 1 {
			t.Errorf("%d pieces at the other node", n)
		}
		if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, []byte("abc"))
	})
}

// TestEndLeftOfOtherWrites: a write that a client has open is not ended; one in its two minutes is.
func TestEndLeftOfOtherWrites(t *testing.T) {
	b := newMemoryBench(t, 1)
	token, c := b.grant(92, 1, 1)
	f := b.begin(1, token)
	if err := f.WritePages(content(1000), nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); !isKind(err, errs.Conflict) {
		t.Errorf("with a client: %v", err)
	}
	f.End(ctx, hemera.EndDetach)
	if left := b.hosts[0].pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteDetached || left[0].At.Sub(left[0].Gone) != hemera.PendingHold+transfer.KeptLifetime {
		t.Errorf("%+v", left)
	}
	if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
		t.Fatal(err)
	}
	if r := b.manager.commit(t, c); !r.Left || r.Kept {
		t.Errorf("left: %v, kept: %v", r.Left, r.Kept)
	}
	b.mustRead(c, content(1000))
}

// TestARefusedCommitOfAKeptWriteLeavesNothing: what the manager refuses stays refused.
func TestARefusedCommitOfAKeptWriteLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		token, c := b.grant(93, 2, 1, 2)
		b.keep(token, func(f hemera.File) error { return f.WritePages(content(100_000), nil, 0) })
		b.manager.mu.Lock()
		b.manager.refuse = []error{errs.New(errs.Conflict, "commit", "", "newer")}
		b.manager.mu.Unlock()
		if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); !isKind(err, errs.Conflict) {
			t.Fatal(err)
		}
		b.hosts[0].host.Wait()
		b.mustHave(c)
	})
}

// TestAClientStartsOverAKeptWrite: as after an abort, with an empty content.
func TestAClientStartsOverAKeptWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		token, c := b.grant(94, 2, 1, 2)
		b.keep(token, func(f hemera.File) error { return f.WritePages(content(100_000), nil, 0) })
		f := b.begin(1, token)
		if err := errors.Join(f.WritePages([]byte("abc"), nil, 0), f.End(ctx, hemera.EndClose)); err != nil {
			t.Fatal(err)
		}
		if r := b.manager.commit(t, c); r.Left || r.Kept {
			t.Errorf("left: %v, kept: %v", r.Left, r.Kept)
		}
		b.mustRead(c, []byte("abc"))
	})
}

// TestKeptWritesAreBounded: of one user the oldest makes way, and other users' stay.
func TestKeptWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 1)
		leave := func(user string, id int) uint64 {
			t.Helper()
			_, c := b.grant(id, 1, 1)
			c.Who.Name, c.Who.UID = user, uint32(len(user))
			f := b.begin(1, b.manager.sign(c))
			if err := f.WritePages([]byte("abc"), nil, 0); err != nil {
				t.Fatal(err)
			}
			f.End(ctx, hemera.EndDetach)
			time.Sleep(time.Second)
			return c.Nonce
		}
		other := leave("bob", 1000)
		first := leave("alice", 1001)
		for i := range 64 {
			leave("alice", 1002+i)
		}
		time.Sleep(hemera.PendingHold + time.Second)
		synctest.Wait()
		has := func(nonce uint64) bool {
			return slices.ContainsFunc(b.hosts[0].pending.Left(1000), func(w hemera.WriteInfo) bool { return w.ID == strconv.FormatUint(nonce, 36) })
		}
		if n := b.hosts[0].pending.Kept(); n != 65 || !has(other) || has(first) {
			t.Errorf("%d are kept; the other user's: %v, the oldest: %v", n, has(other), has(first))
		}
	})
}
