package transfer_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// keep leaves a write behind that is kept.
func (b *bench) keep(token string, write func(f hemera.File) error) {
	b.t.Helper()
	b.leave(token, write)
	time.Sleep(hemera.PendingHold + time.Second)
	synctest.Wait()
	if n := b.hosts[0].pending.Kept(); n == 0 {
		b.t.Fatal("nothing is kept")
	}
}

// leave has a client write, and go away.
func (b *bench) leave(token string, write func(f hemera.File) error) {
	b.t.Helper()
	f := b.begin(1, token)
	if err := write(f); err != nil {
		b.t.Fatal(err)
	}
	f.End(ctx, hemera.EndDetach)
}

// refuseOnce sets the answers to the next commits.
func (b *bench) refuseOnce(answers ...error) {
	b.manager.mu.Lock()
	defer b.manager.mu.Unlock()
	b.manager.refuse = answers
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
						if n := b.hosts[0].pending.Len(); n != 0 || b.manager.kept != 1 || b.manager.keptSize != int64(len(part)) || (b.manager.aborted == 1) == commit {
							t.Errorf("%d pending, kept %d times with %d bytes, %d aborts", n, b.manager.kept, b.manager.keptSize, b.manager.aborted)
						}
						if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, commit); !isKind(err, errs.NotFound) {
							t.Errorf("again: %v", err)
						}
						if !commit {
							b.mustHave(c)
							return
						}
						if r := b.manager.commit(t, c); !r.Left || r.Size != int64(len(part)) {
							t.Errorf("%d bytes, left: %v", r.Size, r.Left)
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
		b.mustHave(c, 1, 2)
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
	if left := b.hosts[0].pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteDetached || left[0].At.Sub(left[0].Gone) != hemera.PendingHold+hemera.KeptLifetime {
		t.Errorf("%+v", left)
	}
	if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
		t.Fatal(err)
	}
	if r := b.manager.commit(t, c); !r.Left {
		t.Error("it does not say that its client is gone")
	}
	b.mustRead(c, content(1000))
}

// TestARefusedCommitLeavesAKeptWrite: whatever the reason, and whether the node or a person commits: the content stays, with the
// reason and what can be done, until it is committed, dropped, or its time is over.
func TestARefusedCommitLeavesAKeptWrite(t *testing.T) {
	part := content(100_000)
	plain := func(f hemera.File) error { return f.WritePages(part, nil, 0) }
	synced := func(f hemera.File) error { return errors.Join(plain(f), f.Sync(ctx)) }
	for _, l := range []hemera.Layout{hemera.Replica(2), small(hemera.ReedSolomon(2, 1))} {
		for _, kind := range []errs.Kind{errs.OverQuota, errs.Conflict, errs.Invalid, errs.Denied} {
			for by, write := range map[string]func(hemera.File) error{"a person": plain, "its node": synced, "a person at once": synced} {
				for _, end := range []string{"commit", "drop", "time"} {
					t.Run(l.String()+"/"+kind.String()+"/"+by+"/"+end, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							b := newMemoryBench(t, 3)
							b.layout = l
							token, c := b.grant(93, 2, 1, 2, 3)
							b.refuseOnce(errs.New(kind, "commit", "", "for a reason"))
							b.leave(token, write)
							pending := b.hosts[0].pending
							if by != "a person at once" {
								time.Sleep(hemera.PendingHold + time.Second)
								synctest.Wait()
							}
							if by != "its node" {
								if _, err := pending.EndLeft(ctx, c.Nonce, true); !isKind(err, kind) || errs.RemedyOf(err) == "" {
									t.Fatal(err)
								}
							}
							left := pending.Left(10)
							if len(left) != 1 || left[0].State != hemera.WriteKept || !strings.Contains(left[0].Refused, "for a reason") || pending.Kept() != 1 || left[0].Gone.IsZero() {
								t.Fatalf("%d are kept: %+v", pending.Kept(), left)
							}
							if kept, aborted := b.manager.heard(); kept == 0 || aborted > 0 {
								t.Errorf("the manager heard of it %d times, and of %d aborts", kept, aborted)
							}
							if end == "time" {
								time.Sleep(hemera.KeptLifetime)
								synctest.Wait()
							} else if _, err := pending.EndLeft(ctx, c.Nonce, end == "commit"); err != nil {
								t.Fatal(err)
							}
							if n := pending.Len(); n != 0 {
								t.Errorf("%d are pending", n)
							}
							if end == "commit" {
								b.mustRead(c, part)
							} else {
								b.mustHave(c)
							}
						})
					})
				}
			}
		}
	}
}

// TestARefusalAfterALostAnswerIsKept: the commit may have happened, so nothing is removed in the end; a person may ask again.
func TestARefusalAfterALostAnswerIsKept(t *testing.T) {
	for _, end := range []string{"commit", "drop"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, 2)
				token, c := b.grant(95, 2, 1, 2)
				b.refuseOnce(errs.New(errs.Timeout, "rpc", "", "lost"), errs.New(errs.Conflict, "commit", "", "for a reason"))
				b.leave(token, func(f hemera.File) error { return errors.Join(f.WritePages(content(100_000), nil, 0), f.Sync(ctx)) })
				time.Sleep(2 * hemera.PendingHold)
				synctest.Wait()
				if left := b.hosts[0].pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteKept || left[0].Refused == "" {
					t.Fatalf("%+v", left)
				}
				if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, end == "commit"); err != nil {
					t.Fatal(err)
				}
				b.mustHave(c, 1, 2)
				if end == "commit" {
					b.mustRead(c, content(100_000))
				}
			})
		})
	}
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
		if r := b.manager.commit(t, c); r.Left || b.manager.aborted != 1 {
			t.Errorf("left: %v, %d aborts", r.Left, b.manager.aborted)
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
