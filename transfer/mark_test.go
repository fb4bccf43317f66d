package transfer_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// mustSay compares what the footers of a content say with whether it is kept.
func (b *bench) mustSay(c hemera.Capability, kept bool) {
	b.t.Helper()
	for _, h := range b.hosts {
		h.host.Wait()
		list, err := h.disk.Scan(hemera.PieceID{}, 100)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, s := range list {
			if s.ID.File == c.File && s.ID.Gen == c.Gen && s.Kept != kept {
				b.t.Errorf("piece %s on disk %d says that it is kept: %v", s.ID, h.id, s.Kept)
			}
		}
	}
}

// restartPeer starts another host than the first again, which knows nothing of writes then.
func (b *bench) restartPeer(id int) {
	h := b.hosts[id-1]
	h.pending.Settle(ctx)
	h.host.Wait()
	old := h.host
	h.host = &transfer.Host{
		Node: piece.Node{Self: old.Self, Disk: old.Disk, Peers: old.Peers, Log: old.Log, HeadProof: old.HeadProof}, Born: old.Born,
		Writes: transfer.Writes{Control: old.Writes.Control, Patience: old.Writes.Patience},
	}
	h.pending = transfer.NewPending(h.host)
}

// TestFootersOfKeptWritesSaySo: from the seal on, until a person has it committed; again after a refusal, and never of what its manager may
// have committed. Heads and the nodes of other pieces restart in between.
func TestFootersOfKeptWritesSaySo(t *testing.T) {
	part := content(100_000)
	writes := map[string]func(hemera.File) error{
		"written": func(f hemera.File) error { return f.WritePages(part, nil, 0) },
		"small":   func(f hemera.File) error { return f.WritePages(part[:3], nil, 0) },
		"synced":  func(f hemera.File) error { return errors.Join(f.WritePages(part, nil, 0), f.Sync(ctx)) },
	}
	restarts := map[string]func(b *bench){
		"none": func(*bench) {}, "head stopped": func(b *bench) { b.restartHead(true) }, "head killed": func(b *bench) { b.restartHead(false) },
		"peers": func(b *bench) { b.restartPeer(2); b.restartPeer(3) },
		"all":   func(b *bench) { b.restartHead(true); b.restartPeer(2); b.restartPeer(3) },
	}
	for kind, l := range map[string]hemera.Layout{"copies": hemera.Replica(3), "coded": small(hemera.ReedSolomon(2, 1))} {
		for name, write := range writes {
			for which, restart := range restarts {
				t.Run(kind+"/"+name+"/"+which, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := newMemoryBench(t, 3)
						b.layout = l
						b.keepsRecords()
						token, c := b.grant(97, 2, 1, 2, 3)
						refusal := errs.New(errs.OverQuota, "commit", "", "full")
						if name == "synced" { // its node asks
							b.refuseOnce(refusal)
						}
						b.keep(token, write)
						b.mustSay(c, true)
						for range 2 {
							restart(b)
							b.refuseOnce(refusal)
							if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); !isKind(err, errs.OverQuota) {
								t.Fatal(err)
							}
							b.mustSay(c, true)
						}
						restart(b)
						if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
							t.Fatal(err)
						}
						b.mustSay(c, false)
						if name == "small" {
							b.mustRead(c, part[:3])
						} else {
							b.mustRead(c, part)
						}
					})
				})
			}
		}
	}
}

// TestACommitNeedsPiecesThatSaySo: the manager is not asked while the pieces that can be reached are too few to read the file. Those
// that cannot are the file's as well: the audit has them say so.
func TestACommitNeedsPiecesThatSaySo(t *testing.T) {
	for _, l := range []hemera.Layout{hemera.Replica(3), small(hemera.ReedSolomon(2, 1))} {
		for _, away := range [][]int{{2}, {1}, {2, 3}, {1, 2, 3}} {
			for _, restarted := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					b := newMemoryBench(t, 3)
					b.layout = l
					b.keepsRecords()
					token, c := b.grant(97, 2, 1, 2, 3)
					b.keep(token, func(f hemera.File) error { return f.WritePages(content(100_000), nil, 0) })
					if restarted {
						b.restartHead(false)
					}
					fails := func(err error) {
						for _, id := range away {
							b.hosts[id-1].disk.fault = &fault{step: "mark", err: err}
						}
					}
					fails(errs.New(errs.IO, "mark", "", "broken"))
					_, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true)
					if enough := 3-len(away) >= int(l.Data); enough != (err == nil) {
						t.Fatalf("%s, %v are away: %v", l, away, err)
					}
					if err != nil {
						if asked := b.manager.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]; asked.Permit != nil || errs.RemedyOf(err) == "" {
							t.Errorf("the manager was asked for %+v, after %v", asked, err)
						}
						fails(nil)
						if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err != nil {
							t.Fatal(err)
						}
						b.mustSay(c, false)
					}
					if r := b.manager.commit(t, c); len(r.Pieces) != 3 {
						t.Errorf("%s, %v are away: %+v", l, away, r.Pieces)
					}
					b.mustRead(c, content(100_000))
				})
			}
		}
	}
}

// TestWhatMayBeCommittedDoesNotSayKept: a refusal after an answer that was lost says nothing of the first question.
func TestWhatMayBeCommittedDoesNotSayKept(t *testing.T) {
	lost, refused := errs.New(errs.Timeout, "rpc", "", "lost"), errs.New(errs.Conflict, "commit", "", "for a reason")
	for _, answers := range [][]error{{lost, refused}, slices.Repeat([]error{lost}, 100)} {
		synctest.Test(t, func(t *testing.T) {
			b := newMemoryBench(t, 2)
			b.keepsRecords()
			token, c := b.grant(95, 2, 1, 2)
			b.keep(token, func(f hemera.File) error { return f.WritePages(content(100_000), nil, 0) })
			b.mustSay(c, true)
			b.refuseOnce(answers...)
			if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); err == nil {
				t.Fatal("it was committed")
			}
			b.mustSay(c, false)
			// The next process does not know either.
			if n := b.restartHead(false); n != 1 {
				t.Fatalf("%d writes are back", n)
			}
			b.refuseOnce(refused)
			if _, err := b.hosts[0].pending.EndLeft(ctx, c.Nonce, true); !isKind(err, errs.Conflict) {
				t.Fatal(err)
			}
			b.mustSay(c, false)
			time.Sleep(hemera.KeptLifetime)
			synctest.Wait()
			b.mustHave(c, 1, 2)
		})
	}
}
