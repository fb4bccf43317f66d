package transfer_test

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hemera/transfer"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// keptStore has records in memory, like a directory that outlives processes.
type keptStore struct {
	mu      sync.Mutex
	records map[string][]byte
	fault   error
}

func (k *keptStore) Save(name string, record []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fault == nil {
		k.records[name] = record
	}
	return k.fault
}

func (k *keptStore) Remove(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.records, name)
	return nil
}

func (k *keptStore) Load() (map[string][]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.records), nil
}

// keepsRecords gives the first host a place for records.
func (b *bench) keepsRecords() *keptStore {
	k := &keptStore{records: map[string][]byte{}}
	b.hosts[0].host.Writes.Kept = k
	return k
}

// restartHead starts the first host again, after a stop in good order or a kill. It returns how many writes are back.
func (b *bench) restartHead(orderly bool) int {
	h := b.hosts[0]
	if orderly {
		h.pending.Settle(ctx)
		h.host.Wait()
	}
	old := h.host
	h.host = &transfer.Host{
		Node: piece.Node{Self: old.Self, Disk: old.Disk, Peers: old.Peers, Log: old.Log, HeadProof: old.HeadProof}, Born: old.Born,
		Writes: transfer.Writes{Control: old.Writes.Control, Patience: old.Writes.Patience, Kept: old.Writes.Kept},
	}
	h.pending = transfer.NewPending(h.host)
	return h.pending.Restore(b.manager.verify)
}

// TestKeptWritesOutlastTheirNode: after a stop and after a kill they are there, and a person commits or drops them.
func TestKeptWritesOutlastTheirNode(t *testing.T) {
	part := content(100_000)
	plain := func(f hemera.File) error { return f.WritePages(part, nil, 0) }
	synced := func(f hemera.File) error { return errors.Join(plain(f), f.Sync(ctx)) }
	refusal := errs.New(errs.OverQuota, "commit", "", "full")
	cases := map[string]struct {
		write   func(hemera.File) error
		wait    time.Duration
		refuse  error
		orderly bool
	}{
		"kept, killed":                          {plain, hemera.PendingHold + time.Second, nil, false},
		"kept, stopped":                         {plain, hemera.PendingHold + time.Second, nil, true},
		"refused, killed":                       {synced, hemera.PendingHold + time.Second, refusal, false},
		"refused, stopped":                      {synced, hemera.PendingHold + time.Second, refusal, true},
		"its client has just gone, stopped":     {plain, time.Second, nil, true},
		"refused as its node stops":             {synced, time.Second, refusal, true},
		"without an answer, as its node stops":  {synced, time.Second, errs.New(errs.Unavailable, "rpc", "", "away"), true},
		"without an answer, stopped in between": {synced, hemera.PendingHold + time.Minute, errs.New(errs.Unavailable, "rpc", "", "away"), true},
	}
	for kind, layout := range map[string]hemera.Layout{"copies": hemera.Replica(2), "coded": small(hemera.ReedSolomon(2, 1))} {
		for name, c := range cases {
			for _, end := range []string{"commit", "drop", "time"} {
				t.Run(kind+"/"+name+"/"+end, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := newMemoryBench(t, 3)
						b.layout = layout
						store := b.keepsRecords()
						token, permit := b.grant(97, 2, 1, 2, 3)
						if c.refuse != nil {
							b.refuseOnce(slices.Repeat([]error{c.refuse}, 100)...)
						}
						b.leave(token, c.write)
						time.Sleep(c.wait)
						synctest.Wait()
						if n := b.restartHead(c.orderly); n != 1 {
							t.Fatalf("%d writes are back", n)
						}
						b.refuseOnce()
						h := b.hosts[0]
						if left := h.pending.Left(10); len(left) != 1 || left[0].State != hemera.WriteKept || left[0].Written != int64(len(part)) || left[0].Who.Name != permit.Who.Name || left[0].Path != permit.Path {
							t.Fatalf("%+v", left)
						}
						if _, err := h.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{}); !isKind(err, errs.Conflict) {
							t.Errorf("a client that comes back: %v", err)
						}
						h.pending.TellKept(ctx)
						if b.manager.keptSize != int64(len(part)) {
							t.Errorf("the manager heard of %d bytes", b.manager.keptSize)
						}
						// A second restart changes nothing.
						if n := b.restartHead(c.orderly); n != 1 {
							t.Fatalf("%d writes are back", n)
						}
						switch end {
						case "time":
							time.Sleep(hemera.KeptLifetime)
							synctest.Wait()
						default:
							if _, err := b.hosts[0].pending.EndLeft(ctx, permit.Nonce, end == "commit"); err != nil {
								t.Fatal(err)
							}
						}
						if n := b.hosts[0].pending.Len(); n != 0 || len(store.records) != 0 {
							t.Errorf("%d pending, %d records", n, len(store.records))
						}
						if end == "commit" {
							b.mustRead(permit, part)
						}
					})
				})
			}
		}
	}
}

// TestRecordsThatCannotBeRead: each is left out for itself. A write whose record cannot be made is kept all the same, until the node ends.
func TestRecordsThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 1)
		store := b.keepsRecords()
		token, _ := b.grant(98, 1, 1)
		b.keep(token, func(f hemera.File) error { return f.WritePages(content(1000), nil, 0) })
		store.records["a"], store.records["b"], store.records["c"] = nil, []byte(`{"version":2}`), []byte(`{"version":2,"token":"nonsense"}`)
		if n := b.restartHead(true); n != 1 {
			t.Errorf("%d writes are back", n)
		}
		store.fault = errs.New(errs.NoSpace, "save", "", "full")
		token, c := b.grant(99, 1, 1)
		b.keep(token, func(f hemera.File) error { return f.WritePages(content(1000), nil, 0) })
		b.restartHead(true)
		b.mustHave(c)
	})
}

// FuzzKeptRecord: no record brings the node down, and one that comes back can be listed and dropped.
func FuzzKeptRecord(f *testing.F) {
	f.Add([]byte(`{"version":2,"token":"token0","size":1000,"checksums":[{"Kind":1,"Value":"AAAAAA=="}],"pieces":[{"Index":0,"Disk":1}],"mtime":"2026-11-28T00:00:00Z"}`))
	f.Add([]byte(`{"version":2,"token":"token0","size":-1,"pieces":[{"Index":9,"Disk":77}],"until":"9999-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := newMemoryBench(t, 1)
		_, c := b.grant(100, 1, 1)
		b.keepsRecords().records["a"] = raw
		n := b.restartHead(false)
		pending := b.hosts[0].pending
		if left := pending.Left(10); len(left) > n {
			t.Errorf("%d writes are back, and %d listed", n, len(left))
		}
		if n == 0 {
			return
		}
		if _, err := pending.EndLeft(ctx, c.Nonce, false); err != nil && errs.KindOf(err) != errs.NotFound {
			t.Error(err)
		}
	})
}
