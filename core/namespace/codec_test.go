package namespace

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera"
)

func sample() *hemera.Entry {
	c, _ := hemera.MakeChecksum(hemera.Adler32, []byte{1, 2, 3, 4})
	return &hemera.Entry{ID: 77, Parent: 5, Name: "f\xff", Kind: hemera.KindFile, Mode: 0o640, UID: 1, GID: math.MaxUint32,
		Mtime: time.Unix(0, 0).UTC(), Ctime: time.Unix(-5, 7).UTC(),
		Xattrs: map[string][]byte{"user.a": {0, 1}, "sys.b": {}},
		Size:   1 << 49, Gen: 3, Layout: hemera.Replica(3), Space: "default",
		Checksums: []hemera.Checksum{c}, Pieces: []hemera.Piece{{Index: 0, Disk: 9}, {Index: 2, Disk: math.MaxUint32}}}
}

func TestRecordsRoundTrip(t *testing.T) {
	for _, e := range []*hemera.Entry{
		sample(),
		{ID: 2, Parent: hemera.RootID, Name: "d", Kind: hemera.KindDirectory, Mode: 0o1777},
		{ID: hemera.RootID, Parent: hemera.RootID, Kind: hemera.KindDirectory},
	} {
		parent := e.Parent
		if e.ID == hemera.RootID {
			parent = 0
		}
		got, err := decodeEntry(entryKey(parent, e.Name), encodeEntry(e))
		if d := cmp.Diff(e, got); d != "" || err != nil {
			t.Errorf("%v\n%s", err, d)
		}
	}
	s := &state{Ctime: time.Unix(1, 2).UTC(), Tree: hemera.TreeTotals{Files: 1, Dirs: 2, Bytes: 1 << 60, Physical: 4}}
	if got, err := decodeState(nil, encodeState(s)); err != nil || *got != *s {
		t.Errorf("state: %+v, %v", got, err)
	}
	ev := &hemera.Event{Seq: 9, Kind: hemera.EventRename, File: 3, Path: "/a", To: "/b", Who: "alice", Bytes: 7, Time: time.Unix(1, 1).UTC()}
	if got, err := decodeEvent(eventKey(9), encodeEvent(ev)); err != nil || *got != *ev {
		t.Errorf("event: %+v, %v", got, err)
	}
}

// TestEveryTruncationIsFound: no shortened and no lengthened record passes.
func TestEveryTruncationIsFound(t *testing.T) {
	e := sample()
	raw := encodeEntry(e)
	for cut := range raw {
		if _, err := decodeEntry(entryKey(5, "f"), raw[:cut]); err == nil {
			t.Errorf("the first %d of %d bytes pass", cut, len(raw))
		}
	}
	if _, err := decodeEntry(entryKey(5, "f"), append(raw, 0)); err == nil {
		t.Error("a byte more passes")
	}
	raw[0]++
	if _, err := decodeEntry(entryKey(5, "f"), raw); err == nil {
		t.Error("a newer version passes")
	}
}

func TestAfterIsTheEndOfAPrefix(t *testing.T) {
	for _, id := range []hemera.FileID{1, 0xff, 0xffff, math.MaxUint64} {
		k := entryKey(id, "")
		end := after(k)
		if last := entryKey(id, string(bytes.Repeat([]byte{0xff}, 255))); bytes.Compare(last, end) >= 0 {
			t.Errorf("%x is not before %x", last, end)
		}
		if next := entryKey(id+1, ""); id != math.MaxUint64 && bytes.Compare(next, end) < 0 {
			t.Errorf("%x is before %x", next, end)
		}
	}
}

// FuzzDecode: any bytes are refused or mean one record, which has one form from then on.
func FuzzDecode(f *testing.F) {
	f.Add(encodeEntry(sample()))
	f.Add(encodeState(&state{}))
	f.Add(encodeEvent(&hemera.Event{Path: "/a"}))
	f.Add(encodeUsage(&usage{1, 2, 3, 0, 0}))
	f.Add(encodeUsage(&usage{1, 2, 3, 1, 4}))
	f.Add((&heldPiece{until: time.UnixMilli(1), bytes: 2}).append(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		k := entryKey(5, "f")
		if e, err := decodeEntry(k, raw); err == nil {
			again, err := decodeEntry(k, encodeEntry(e))
			if err != nil || !bytes.Equal(encodeEntry(again), encodeEntry(e)) {
				t.Errorf("entry %+v: %v", e, err)
			}
		}
		if s, err := decodeState(k, raw); err == nil {
			if again, err := decodeState(k, encodeState(s)); err != nil || *again != *s {
				t.Errorf("state %+v: %v", s, err)
			}
		}
		if e, err := decodeEvent(eventKey(1), raw); err == nil {
			if again, err := decodeEvent(eventKey(1), encodeEvent(e)); err != nil || *again != *e {
				t.Errorf("event %+v: %v", e, err)
			}
		}
		if u, err := decodeUsage(k, raw); err == nil {
			if again, err := decodeUsage(k, encodeUsage(u)); err != nil || *again != *u {
				t.Errorf("usage %+v: %v", u, err)
			}
		}
		if h, err := decodeHeld(raw); err == nil {
			if again, err := decodeHeld(h.append(nil)); err != nil || !again.until.Equal(h.until) || again.bytes != h.bytes {
				t.Errorf("held piece %+v: %v, %v", h, again, err)
			}
		}
		e, err := decodeEntry(k, raw)
		var g glance
		if bad := g.read(k, raw); (bad == nil) != (err == nil) {
			t.Errorf("decoded with %v, glanced at with %v", err, bad)
		} else if err == nil && (g.id != e.ID || g.parent != e.Parent || string(g.name) != e.Name || g.size != e.Size || g.gen != e.Gen ||
			g.quota != e.Quota || g.uid != e.UID || g.gid != e.GID || g.layout != e.Layout || !slices.Equal(g.pieces, e.Pieces)) {
			t.Errorf("%+v is seen as %+v", e, g)
		}
		_, _ = decodePlace(k, raw)
	})
}

// FuzzDecodeQuota is the same for what quotas and restores keep.
func FuzzDecodeQuota(f *testing.F) {
	f.Add(encodeQuotaNode(&quotaNode{State: nodeExact, Set: 1, Limits: 2, Project: hemera.QuotaAmount{Files: 3}}))
	f.Add(encodeAmount(&hemera.QuotaAmount{Files: 1, Bytes: -2, Physical: math.MaxInt64}))
	f.Add(encodeBoundary(Boundary{To: 7, Taken: time.Unix(1, 0), Restored: time.Unix(2, 0)}))
	f.Add(encodePlace(&place{5, "f"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if q, err := decodeQuotaNode(nil, raw); err == nil {
			if again, err := decodeQuotaNode(nil, encodeQuotaNode(q)); err != nil || *again != *q {
				t.Errorf("quota node %+v: %v", q, err)
			}
		}
		if a, err := decodeAmount(nil, raw); err == nil {
			if again, err := decodeAmount(nil, encodeAmount(a)); err != nil || *again != *a {
				t.Errorf("amount %+v: %v", a, err)
			}
		}
		k := boundaryKey(3)
		if b, err := decodeBoundary(k, raw); err == nil {
			if again, err := decodeBoundary(k, encodeBoundary(b)); err != nil || again != b {
				t.Errorf("boundary %+v: %v", b, err)
			}
		}
		if p, err := decodePlace(nil, raw); err == nil && !bytes.Equal(encodePlace(p), raw) {
			t.Errorf("place %+v of %x", p, raw)
		}
		a := accountOf(raw)
		if len(raw) == 15 && !bytes.Equal(accountKey(raw[1], number(raw, 2), a)[1:], raw[1:]) {
			t.Errorf("account %+v of %x", a, raw)
		}
	})
}
