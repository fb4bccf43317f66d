package schema

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/words/hemera"
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
		got, err := DecodeEntry(EntryKey(parent, e.Name), EncodeEntry(e))
		if d := cmp.Diff(e, got); d != "" || err != nil {
			t.Errorf("%v\n%s", err, d)
		}
	}
	s := &Directory{Ctime: time.Unix(1, 2).UTC(), Tree: hemera.TreeTotals{Files: 1, Dirs: 2, Bytes: 1 << 60, Physical: 4}}
	if got, err := DecodeDirectory(nil, EncodeDirectory(s)); err != nil || *got != *s {
		t.Errorf("state: %+v, %v", got, err)
	}
	ev := &hemera.Event{Seq: 9, Kind: hemera.EventRename, File: 3, Path: "/a", To: "/b", Who: "alice", Bytes: 7, Time: time.Unix(1, 1).UTC()}
	if got, err := DecodeEvent(EventKey(9), AppendEvent(nil, ev)); err != nil || *got != *ev {
		t.Errorf("event: %+v, %v", got, err)
	}
}

// TestEveryTruncationIsFound: no shortened and no lengthened record passes.
func TestEveryTruncationIsFound(t *testing.T) {
	e := sample()
	raw := EncodeEntry(e)
	for cut := range raw {
		if _, err := DecodeEntry(EntryKey(5, "f"), raw[:cut]); err == nil {
			t.Errorf("the first %d of %d bytes pass", cut, len(raw))
		}
	}
	if _, err := DecodeEntry(EntryKey(5, "f"), append(raw, 0)); err == nil {
		t.Error("a byte more passes")
	}
	raw[0]++
	if _, err := DecodeEntry(EntryKey(5, "f"), raw); err == nil {
		t.Error("a newer version passes")
	}
}

func TestAfterIsTheEndOfAPrefix(t *testing.T) {
	for _, id := range []hemera.FileID{1, 0xff, 0xffff, math.MaxUint64} {
		k := EntryKey(id, "")
		end := PrefixEnd(k)
		if last := EntryKey(id, string(bytes.Repeat([]byte{0xff}, 255))); bytes.Compare(last, end) >= 0 {
			t.Errorf("%x is not before %x", last, end)
		}
		if next := EntryKey(id+1, ""); id != math.MaxUint64 && bytes.Compare(next, end) < 0 {
			t.Errorf("%x is before %x", next, end)
		}
	}
}

// FuzzDecode: any bytes are refused or mean one record, which has one form from then on.
func FuzzDecode(f *testing.F) {
	f.Add(EncodeEntry(sample()))
	f.Add(EncodeDirectory(&Directory{}))
	f.Add(AppendEvent(nil, &hemera.Event{Path: "/a"}))
	f.Add(EncodeUsage(&Usage{1, 2, 3, 0, 0}))
	f.Add(EncodeUsage(&Usage{1, 2, 3, 1, 4}))
	f.Add(AppendHeld(nil, &HeldPiece{Until: time.UnixMilli(1), Bytes: 2}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		k := EntryKey(5, "f")
		if e, err := DecodeEntry(k, raw); err == nil {
			again, err := DecodeEntry(k, EncodeEntry(e))
			if err != nil || !bytes.Equal(EncodeEntry(again), EncodeEntry(e)) {
				t.Errorf("entry %+v: %v", e, err)
			}
		}
		if s, err := DecodeDirectory(k, raw); err == nil {
			if again, err := DecodeDirectory(k, EncodeDirectory(s)); err != nil || *again != *s {
				t.Errorf("state %+v: %v", s, err)
			}
		}
		if e, err := DecodeEvent(EventKey(1), raw); err == nil {
			if again, err := DecodeEvent(EventKey(1), AppendEvent(nil, e)); err != nil || *again != *e {
				t.Errorf("event %+v: %v", e, err)
			}
		}
		if u, err := DecodeUsage(k, raw); err == nil {
			if again, err := DecodeUsage(k, EncodeUsage(u)); err != nil || *again != *u {
				t.Errorf("usage %+v: %v", u, err)
			}
		}
		if h, err := DecodeHeld(nil, raw); err == nil {
			if again, err := DecodeHeld(nil, AppendHeld(nil, h)); err != nil || !again.Until.Equal(h.Until) || again.Bytes != h.Bytes {
				t.Errorf("held piece %+v: %v, %v", h, again, err)
			}
		}
		e, err := DecodeEntry(k, raw)
		var g EntryHeader
		if bad := g.Decode(k, raw); (bad == nil) != (err == nil) {
			t.Errorf("decoded with %v, its header with %v", err, bad)
		} else if err == nil && (g.ID != e.ID || g.Parent != e.Parent || string(g.Name) != e.Name || g.Size != e.Size || g.Gen != e.Gen ||
			g.Quota != e.Quota || g.UID != e.UID || g.GID != e.GID || g.Layout != e.Layout || !slices.Equal(g.Pieces, e.Pieces)) {
			t.Errorf("%+v is seen as %+v", e, g)
		}
		_, _ = DecodeLocation(k, raw)
	})
}

// FuzzDecodeQuota does the same for the records of quotas and restores.
func FuzzDecodeQuota(f *testing.F) {
	f.Add(EncodeQuotaNode(&QuotaNode{State: NodeExact, Set: 1, Limits: 2, Project: hemera.QuotaAmount{Files: 3}}))
	f.Add(EncodeAmount(&hemera.QuotaAmount{Files: 1, Bytes: -2, Physical: math.MaxInt64}))
	f.Add(EncodeBoundary(Boundary{To: 7, Taken: time.Unix(1, 0), Restored: time.Unix(2, 0)}))
	f.Add(EncodeLocation(&Location{5, "f"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if q, err := DecodeQuotaNode(nil, raw); err == nil {
			if again, err := DecodeQuotaNode(nil, EncodeQuotaNode(q)); err != nil || *again != *q {
				t.Errorf("quota node %+v: %v", q, err)
			}
		}
		if a, err := DecodeAmount(nil, raw); err == nil {
			if again, err := DecodeAmount(nil, EncodeAmount(a)); err != nil || *again != *a {
				t.Errorf("amount %+v: %v", a, err)
			}
		}
		k := BoundaryKey(3)
		if b, err := DecodeBoundary(k, raw); err == nil {
			if again, err := DecodeBoundary(k, EncodeBoundary(b)); err != nil || again != b {
				t.Errorf("boundary %+v: %v", b, err)
			}
		}
		if p, err := DecodeLocation(nil, raw); err == nil && !bytes.Equal(EncodeLocation(p), raw) {
			t.Errorf("place %+v of %x", p, raw)
		}
		a := AccountOf(raw)
		if len(raw) == 15 && !bytes.Equal(AccountKey(raw[1], Uint64At(raw, 2), a)[1:], raw[1:]) {
			t.Errorf("account %+v of %x", a, raw)
		}
	})
}
