package transfer_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/disk"
	"hemera/disk/bounded"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// killHead ends the process of the first host without a word, and starts it again. It returns how many writes are back.
func (b *bench) killHead() int {
	h := b.hosts[0]
	old := h.disk
	_ = old.Close() // what the process had open
	old.gone = true
	d, err := disk.Open(old.fs, old.path, disk.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	store := bounded.New(d, slog.New(slog.DiscardHandler), nil)
	b.t.Cleanup(func() { _ = store.Close() })
	h.disk = &faultyDisk{Store: store, path: old.path, fs: old.fs}
	return b.restartHead(false)
}

// TestSyncedWritesOutlastAKill: what a client was told is durable is found by the next process of its head, and a person takes or drops
// it. The client, which comes back, hears that its write is not there any more.
func TestSyncedWritesOutlastAKill(t *testing.T) {
	first, more := content(300_000), content(50_000)
	synced := func(f hemera.File) error { return errors.Join(f.WritePages(first, nil, 0), f.Sync(ctx)) }
	appended := append(bytes.Clone(first), more...)
	over := bytes.Clone(first)
	copy(over[1000:], more)
	writes := map[string]struct {
		do   func(hemera.File) error
		want []byte // nil: nothing is found
	}{
		"written":           {func(f hemera.File) error { return f.WritePages(first, nil, 0) }, nil},
		"synced":            {synced, first},
		"more was appended": {func(f hemera.File) error { return errors.Join(synced(f), f.WritePages(more, nil, int64(len(first)))) }, first},
		"synced twice": {func(f hemera.File) error {
			return errors.Join(synced(f), f.WritePages(more, nil, int64(len(first))), f.Sync(ctx))
		}, appended},
		"written over": {func(f hemera.File) error { return errors.Join(synced(f), f.WritePages(more, nil, 1000)) }, over},
		"empty":        {func(f hemera.File) error { return f.Sync(ctx) }, nil},
	}
	for _, on := range [][]int{{1}, {1, 2}, {2, 1, 3}} {
		for name, w := range writes {
			for _, end := range []string{"commit", "drop", "time", "killed again"} {
				t.Run(name+"/"+end, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := newMemoryBench(t, 3)
						store := b.keepsRecords()
						token, c := b.grant(97, len(on), on...)
						f := b.begin(1, token)
						if err := w.do(f); err != nil {
							t.Fatal(err)
						}
						if n := b.killHead(); (n == 1) != (w.want != nil) {
							t.Fatalf("%d writes are back", n)
						}
						h := b.hosts[0]
						if w.want == nil {
							if n := h.pending.Len(); n != 0 {
								t.Errorf("%d are pending", n)
							}
							return
						}
						if left := h.pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteKept || left[0].Written != int64(len(w.want)) || left[0].Path != c.Path {
							t.Fatalf("%+v", left)
						}
						if left := h.pending.Left(10); !left[0].Found || left[0].Differ != 0 {
							t.Errorf("it is not said that it is as of a sync: %+v", left)
						}
						if _, err := h.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
							t.Errorf("its client comes back: %v", err)
						}
						h.pending.TellKept(ctx)
						if b.manager.keptSize != int64(len(w.want)) {
							t.Errorf("the manager heard of %d bytes", b.manager.keptSize)
						}
						switch end {
						case "time":
							time.Sleep(hemera.KeptLifetime + time.Second)
							synctest.Wait()
						case "killed again":
							if n := b.killHead(); n != 1 {
								t.Fatalf("%d writes are back", n)
							}
							h, end = b.hosts[0], "commit"
							fallthrough
						default:
							i, err := h.pending.EndLeft(ctx, c.Nonce, end == "commit")
							if err != nil {
								t.Fatal(err)
							}
							if changed := end == "commit" && name == "written over"; changed != (i.Differ > 0) {
								t.Errorf("%d pages differ from the last sync", i.Differ)
							}
						}
						h.host.Wait()
						if n := h.pending.Len(); n != 0 || len(store.records) != 0 {
							t.Errorf("%d pending, %d records", n, len(store.records))
						}
						if end == "commit" {
							b.mustRead(c, w.want)
							b.mustHave(c, on...)
						} else {
							b.mustHave(c)
						}
					})
				})
			}
		}
	}
}

// TestAFoundWriteThatCannotBeCommittedStays: whatever fails, it is there for the next attempt.
func TestAFoundWriteThatCannotBeCommittedStays(t *testing.T) {
	data := content(100_000)
	full := errs.New(errs.NoSpace, "seal", "", "full")
	for name, fail := range map[string]func(b *bench) (heal func()){
		"its disk is full": func(b *bench) func() {
			b.hosts[0].disk.fault = &fault{step: "seal", err: full}
			return func() { b.hosts[0].disk.fault = nil }
		},
		"the other nodes are away": func(b *bench) func() {
			b.peers.fail(2, &fault{step: "create", err: errGone})
			return func() { b.peers.fail(2, nil) }
		},
		"another node fails in the middle": func(b *bench) func() {
			b.peers.fail(2, &fault{step: "seal", err: errGone})
			return func() { b.manager.spare = []int{3} }
		},
		"the manager refuses": func(b *bench) func() {
			b.refuseOnce(errs.New(errs.OverQuota, "commit", "", "full"))
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, 3)
				b.keepsRecords()
				token, c := b.grant(97, 2, 1, 2)
				f := b.begin(1, token)
				if err := errors.Join(f.WritePages(data, nil, 0), f.Sync(ctx)); err != nil {
					t.Fatal(err)
				}
				b.killHead()
				heal := fail(b)
				pending := b.hosts[0].pending
				if _, err := pending.EndLeft(ctx, c.Nonce, true); err == nil {
					t.Fatal("it is committed")
				}
				if left := pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteKept || left[0].Refused == "" {
					t.Fatalf("%+v", left)
				}
				heal()
				if _, err := pending.EndLeft(ctx, c.Nonce, true); err != nil {
					t.Fatal(err)
				}
				b.mustRead(c, data)
				if n := len(b.manager.commit(t, c).Pieces); n != 2 {
					t.Errorf("it has %d pieces", n)
				}
			})
		})
	}
}

// TestAKillInTheCloseOfASyncedWrite: the commit may have been heard or not. The next process asks for it again, for its client or by itself; what a
// person drops is not removed, as it may be the file's.
func TestAKillInTheCloseOfASyncedWrite(t *testing.T) {
	data := content(100_000)
	for _, committed := range []bool{false, true} {
		for _, drop := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := newMemoryBench(t, 2)
				b.keepsRecords()
				token, c := b.grant(97, 2, 1, 2)
				f := b.begin(1, token)
				if err := errors.Join(f.WritePages(data, nil, 0), f.Sync(ctx)); err != nil {
					t.Fatal(err)
				}
				lost := errs.New(errs.Unavailable, "rpc", "", "away")
				if committed {
					b.manager.after = lost
				}
				b.refuseOnce(slices.Repeat([]error{lost}, 1000)...)
				if committed {
					b.refuseOnce(append([]error{nil}, slices.Repeat([]error{lost}, 1000)...)...)
				}
				if err := f.End(ctx, hemera.EndClose); err == nil {
					t.Fatal("it is closed")
				}
				if n := b.killHead(); n != 1 {
					t.Fatalf("%d writes are back", n)
				}
				b.refuseOnce()
				pending := b.hosts[0].pending
				if left := pending.Left(10); len(left) != 1 || left[0].Then != hemera.ThenCommit {
					t.Errorf("%+v", left)
				}
				if drop {
					if _, err := pending.EndLeft(ctx, c.Nonce, false); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(hemera.PendingHold + time.Second)
				synctest.Wait()
				if n := pending.Len(); n != 0 {
					t.Errorf("%d are pending", n)
				}
				if committed || !drop {
					b.mustRead(c, data)
				}
			})
		}
	}
}

// TestASyncIsRefusedThatCannotBeKept: what would be lost with the node is not acknowledged. A node that stops keeps what was synced,
// though its client has it open.
func TestASyncIsRefusedThatCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 1)
		store := b.keepsRecords()
		_, c := b.grant(97, 1, 1)
		token, c := b.announce(c, 200_000)
		f := b.begin(1, token)
		store.fault = errs.New(errs.NoSpace, "save", "", "full")
		if err := errors.Join(f.WritePages(content(1000), nil, 0), f.Sync(ctx)); !isKind(err, errs.NoSpace) {
			t.Errorf("a sync without a record: %v", err)
		}
		store.fault = nil
		if err := f.Sync(ctx); err != nil {
			t.Error(err)
		}
		if n := b.restartHead(true); n != 1 {
			t.Fatalf("%d writes are back", n)
		}
		if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, content(1000))
	})
}
