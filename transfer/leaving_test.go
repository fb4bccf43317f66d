package transfer_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestWriteWhoseClientDoesNotComeBack: what was acknowledged decides whether it is committed or removed.
func TestWriteWhoseClientDoesNotComeBack(t *testing.T) {
	const size = 200_000
	first, rest := content(size)[:size/2], content(size)[size/2:]
	steps := map[string]struct {
		announced int64
		do        func(f hemera.File) error
		committed int // bytes; -1: removed
	}{
		"written":          {do: func(f hemera.File) error { return f.WritePages(first, nil, 0) }, committed: -1},
		"never written":    {do: func(hemera.File) error { return nil }, committed: -1},
		"synced":           {do: func(f hemera.File) error { return errors.Join(f.WritePages(first, nil, 0), f.Sync(ctx)) }, committed: size / 2},
		"empty and synced": {do: func(f hemera.File) error { return f.Sync(ctx) }, committed: 0},
		"synced, then written": {do: func(f hemera.File) error {
			return errors.Join(f.WritePages(first, nil, 0), f.Sync(ctx), f.WritePages(rest, nil, size/2))
		}, committed: size},
		"synced, then cut": {do: func(f hemera.File) error {
			return errors.Join(f.WritePages(first, nil, 0), f.Sync(ctx), f.Truncate(100))
		}, committed: 100},
		"all that was announced": {announced: size, do: func(f hemera.File) error {
			return errors.Join(f.WritePages(first, nil, 0), f.WritePages(rest, nil, size/2))
		}, committed: size},
		"the same in another order": {announced: size, do: func(f hemera.File) error {
			return errors.Join(f.WritePages(rest, nil, size/2), f.WritePages(first, nil, 0))
		}, committed: size},
		"less than announced":   {announced: size, do: func(f hemera.File) error { return f.WritePages(first, nil, 0) }, committed: -1},
		"less, and synced":      {announced: size, do: func(f hemera.File) error { return errors.Join(f.WritePages(first, nil, 0), f.Sync(ctx)) }, committed: -1},
		"the end, with a hole":  {announced: size, do: func(f hemera.File) error { return f.WritePages(rest, nil, size/2) }, committed: -1},
		"stretched to its size": {announced: size, do: func(f hemera.File) error { return errors.Join(f.WritePages(first, nil, 0), f.Truncate(size)) }, committed: -1},
		"more than announced": {announced: size / 2, do: func(f hemera.File) error {
			return errors.Join(f.WritePages(first, nil, 0), f.WritePages(rest, nil, size/2))
		}, committed: -1},
		"complete, then cut": {announced: size, do: func(f hemera.File) error { return errors.Join(f.WritePages(content(size), nil, 0), f.Truncate(100)) }, committed: -1},
		"complete, but told to have failed": {announced: size, do: func(f hemera.File) error {
			if f.WritePages(first, nil, -1) == nil {
				return errors.New("a write before the beginning succeeded")
			}
			return f.WritePages(content(size), nil, 0)
		}, committed: -1},
	}
	layouts := map[string]hemera.Layout{"copies": hemera.Replica(3), "coded": small(hemera.ReedSolomon(2, 1))}
	for kind, layout := range layouts {
		for name, s := range steps {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newMemoryBench(t, 3)
					b.layout = layout
					_, c := b.grant(80, 2, 1, 2, 3)
					token, c := b.announce(c, s.announced)
					f := b.begin(1, token)
					if err := s.do(f); err != nil {
						t.Fatal(err)
					}
					f.End(ctx, hemera.EndDetach)
					time.Sleep(hemera.PendingHold - time.Second)
					if b.manager.asked() != 0 {
						t.Error("it was committed while its client might come back")
					}
					time.Sleep(2 * time.Second)
					synctest.Wait()
					b.wantKept(s.committed < 0 && name != "never written")
					for _, h := range b.hosts {
						h.host.Wait()
						if n := h.pending.Len(); n != 0 {
							t.Errorf("%d are pending", n)
						}
					}
					if s.committed < 0 {
						if b.manager.has(c) || b.manager.aborted != 1 {
							t.Errorf("committed: %v, aborts: %d", b.manager.has(c), b.manager.aborted)
						}
						b.mustHave(c)
						return
					}
					if r := b.manager.commit(t, c); !r.Left || r.Size != int64(s.committed) {
						t.Errorf("%d bytes, left: %v", r.Size, r.Left)
					}
					if s.committed > 0 {
						b.mustRead(c, content(size)[:s.committed])
					}
					// Its client finds the close done.
					f = b.open(1, token, hemera.NodeOpen{})
					if err := f.End(ctx, hemera.EndClose); err != nil {
						t.Errorf("close of a client that comes back after all: %v", err)
					}
				})
			})
		}
	}
}

// wantKept waits for the end of a write that is kept, or sees that none is.
func (b *bench) wantKept(kept bool) {
	b.t.Helper()
	left, n := b.hosts[0].pending.Left(10), b.hosts[0].pending.Kept()
	if !kept {
		if len(left)+n > 0 {
			b.t.Errorf("%d are kept: %+v", n, left)
		}
		return
	}
	heard, aborted := b.manager.heard()
	if n != 1 || len(left) != 1 || left[0].State != hemera.WriteKept || left[0].Then != hemera.ThenRemove || heard != 1 || aborted != 0 {
		b.t.Errorf("%d are kept, the name was given back %d times: %+v", n, heard, left)
	}
	time.Sleep(hemera.KeptLifetime)
	synctest.Wait()
}

// TestUpdateWhoseClientDoesNotComeBack: only a sync decides, whatever size was announced.
func TestUpdateWhoseClientDoesNotComeBack(t *testing.T) {
	for name, synced := range map[string]bool{"written": false, "synced": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, 2)
				old := content(100_000)
				base := b.put(81, old, 1, 2)
				_, c := b.update(base, 2, 1, 2)
				token, c := b.announce(c, int64(len(old)))
				f := b.open(1, token, hemera.NodeOpen{})
				err := f.WritePages([]byte("changed"), nil, 50_000)
				if synced {
					err = errors.Join(err, f.Sync(ctx))
				}
				if err != nil {
					t.Fatal(err)
				}
				f.End(ctx, hemera.EndDetach)
				time.Sleep(hemera.PendingHold + time.Second)
				synctest.Wait()
				if !synced {
					time.Sleep(hemera.KeptLifetime)
					synctest.Wait()
					b.mustHave(c)
					b.mustRead(base, old)
					return
				}
				want := slices.Clone(old)
				copy(want[50_000:], "changed")
				b.mustRead(c, want)
			})
		})
	}
}

// TestClientComesBackWhileItsWriteIsKept: it goes on, and its own close decides.
func TestClientComesBackWhileItsWriteIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		token, c := b.grant(82, 2, 1, 2)
		f := b.begin(1, token)
		if err := errors.Join(f.WritePages(content(50_000), nil, 0), f.Sync(ctx)); err != nil {
			t.Fatal(err)
		}
		f.End(ctx, hemera.EndDetach)
		time.Sleep(hemera.PendingHold - time.Second)
		f = b.open(1, token, hemera.NodeOpen{})
		time.Sleep(2 * hemera.PendingHold)
		if b.manager.asked() != 0 {
			t.Error("it was committed while its client had it open")
		}
		// It starts over: what was synced before counts no more.
		f.End(ctx, hemera.EndDetach)
		f = b.begin(1, token)
		if err := f.WritePages([]byte("abc"), nil, 0); err != nil {
			t.Fatal(err)
		}
		f.End(ctx, hemera.EndDetach)
		time.Sleep(hemera.PendingHold + time.Second)
		synctest.Wait()
		if n := b.hosts[0].pending.Kept(); n != 1 || b.manager.asked() != 0 {
			t.Errorf("%d are kept, %d commits", n, b.manager.asked())
		}
		time.Sleep(hemera.KeptLifetime)
		synctest.Wait()
		b.mustHave(c)
	})
}

// TestNodeStopsWithWritesOfLostClients: a stop in good order decides as the end of the wait does.
func TestNodeStopsWithWritesOfLostClients(t *testing.T) {
	b := newMemoryBench(t, 2)
	token, synced := b.grant(83, 2, 1, 2)
	f := b.begin(1, token)
	if err := errors.Join(f.WritePages(content(50_000), nil, 0), f.Sync(ctx)); err != nil {
		t.Fatal(err)
	}
	f.End(ctx, hemera.EndDetach)
	token, lost := b.grant(84, 2, 1, 2)
	f = b.begin(1, token)
	if err := f.WritePages(content(50_000), nil, 0); err != nil {
		t.Fatal(err)
	}
	f.End(ctx, hemera.EndDetach)
	token, open := b.grant(86, 2, 1, 2)
	f = b.begin(1, token)
	if err := errors.Join(f.WritePages(content(50_000), nil, 0), f.Sync(ctx)); err != nil {
		t.Fatal(err)
	}
	// What a client has open is its own until the end.
	b.hosts[0].pending.Conclude()
	b.mustRead(synced, content(50_000))
	if done := b.manager.has(open); done || b.hosts[0].pending.Len() != 2 {
		t.Errorf("committed: %v, pending: %d", done, b.hosts[0].pending.Len())
	}
	b.hosts[0].pending.Settle(ctx)
	b.hosts[0].host.Wait()
	b.mustRead(open, content(50_000))
	b.mustHave(lost)
}

// TestNodesThatStopDoNotWaitForEachOther: each has a write whose client has gone, and that is not complete, with a piece at the other.
func TestNodesThatStopDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		for i, on := range [][]int{{1, 2}, {2, 1}} {
			token, _ := b.grant(87+i, 2, on...)
			f := b.begin(on[0], token)
			if err := f.WritePages(content(1<<20), nil, 0); err != nil {
				t.Fatal(err)
			}
			f.End(ctx, hemera.EndDetach)
		}
		for _, h := range b.hosts[:2] {
			if h.pending.Attached() == 0 {
				t.Error("no piece is held: nothing is tried here")
			}
			h.pending.Conclude()
		}
		time.Sleep(time.Minute) // their heads have sealed them long ago
		synctest.Wait()
		for _, h := range b.hosts[:2] {
			if n := h.pending.Attached(); n > 0 {
				t.Errorf("%d works are held", n)
			}
		}
		// What is kept is kept for its time, and not for that of a client to come back.
		time.Sleep(hemera.PendingHold + time.Second)
		synctest.Wait()
		for _, h := range b.hosts[:2] {
			if n := len(h.pending.Left(10)); n != 1 {
				t.Errorf("%d writes are kept", n)
			}
		}
		for _, h := range b.hosts[:2] {
			h.pending.Settle(ctx)
			h.host.Wait()
		}
	})
}

// TestLeftWriteWaitsForTheManager: it is asked again after each wait, and after a refusal a person is waited for.
func TestLeftWriteWaitsForTheManager(t *testing.T) {
	for name, last := range map[string]error{"back": nil, "a newer write": errs.New(errs.Conflict, "commit", "", "newer")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, 2)
				token, c := b.grant(85, 2, 1, 2)
				f := b.begin(1, token)
				if err := errors.Join(f.WritePages(content(50_000), nil, 0), f.Sync(ctx)); err != nil {
					t.Fatal(err)
				}
				f.End(ctx, hemera.EndDetach)
				refuse := []error{last}
				if last == nil { // as long as one close asks, and into the next
					refuse = slices.Repeat([]error{errs.New(errs.Unavailable, "rpc", "manager", "away")}, 10)
				}
				b.manager.mu.Lock()
				b.manager.refuse = refuse
				b.manager.mu.Unlock()
				time.Sleep(3 * hemera.PendingHold)
				synctest.Wait()
				if last != nil {
					b.mustHave(c, 1, 2)
					time.Sleep(hemera.KeptLifetime)
					synctest.Wait()
				}
				if n := b.hosts[0].pending.Len(); n != 0 {
					t.Errorf("%d are pending", n)
				}
				if last == nil {
					b.mustRead(c, content(50_000))
				} else {
					b.mustHave(c)
				}
			})
		})
	}
}

// asked returns the number of requests for a commit.
func (m *manager) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// has reports whether a content is committed.
func (m *manager) has(c hemera.Capability) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, done := m.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]
	return done
}
