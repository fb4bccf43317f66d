package schema

import (
	"encoding/hex"
	"testing"
	"time"

	"hemera/words/hemera"
)

// TestStoredBytes holds keys and records byte by byte: stores that exist have these. A change here is a new version of the
// format, see docs/formats/namespace.md.
func TestStoredBytes(t *testing.T) {
	at := time.Unix(1700000000, 123).UTC()
	sum := hemera.Checksum{Kind: hemera.Adler32}
	copy(sum.Value[:], []byte{1, 2, 3, 4})
	file := &hemera.Entry{ID: 300, Parent: 7, Name: "f", Kind: hemera.KindFile, Mode: 0o640, UID: 1000, GID: 100, Mtime: at, Ctime: at.Add(time.Second), Birth: at,
		Xattrs: map[string][]byte{"user.b": []byte("2"), "user.a": {}}, Size: 1 << 33, Gen: 42, Layout: hemera.Replica(2), Space: "default",
		Checksums: []hemera.Checksum{sum}, Pieces: []hemera.Piece{{Index: 0, Disk: 1}, {Index: 1, Disk: 70000}}}
	dir := &hemera.Entry{ID: 7, Parent: 1, Name: "d", Kind: hemera.KindDirectory, Mode: 0o755, Quota: true, Mtime: at}
	p := hemera.PieceID{File: 300, Gen: 42, Index: 1}
	for _, test := range []struct {
		name string
		got  []byte
		want string
	}{
		{"file", EncodeEntry(file),
			"0101ac02a003e80764f681d0e2c6bfce972ff6a9a69ccebfce972ff681d0e2c6bfce972f0206757365722e610006757365722e62013280808080202a020102000764656661756c7401010102030402000101f0a204"},
		{"quota directory", EncodeEntry(dir),
			"020207ed030000f681d0e2c6bfce972fffffffffffffffffff01ffffffffffffffffff0100"},
		{"location", EncodeLocation(&Location{Parent: 7, Name: "f"}),
			"000000000000000766"},
		{"directory, version 1", EncodeDirectory(&Directory{Mtime: at, Tree: hemera.TreeTotals{Files: 1, Dirs: 2, Bytes: 3, Physical: -4}}),
			"01f681d0e2c6bfce972fffffffffffffffffff0102040607"},
		{"directory, version 2", EncodeDirectory(&Directory{Mtime: at, Ctime: at, Tree: hemera.TreeTotals{Files: 1, Dirs: 2, Bytes: 3, Physical: 4}, Depth: 5}),
			"02f681d0e2c6bfce972ff681d0e2c6bfce972f020406080a"},
		{"usage, version 1", EncodeUsage(&Usage{1, 2, 3, 0, 0}),
			"01020406"},
		{"usage, version 2", EncodeUsage(&Usage{1, 2, 3, 4, 5}),
			"02020406080a"},
		{"held", AppendHeld(nil, &HeldPiece{Until: at, Bytes: 9}),
			"010000018bcfe5680012"},
		{"event", AppendEvent(nil, &hemera.Event{Kind: hemera.EventRename, File: 300, Path: "/a", To: "/b", Who: "x", Bytes: 7, Time: at}),
			"0103f681d0e2c6bfce972fac02022f61022f6201780e"},
		{"quota node", EncodeQuotaNode(&QuotaNode{State: NodeMerging, Set: 1, Side: 2, From: 3, Limits: 4, Project: hemera.QuotaAmount{Files: 5, Bytes: 6, Physical: 7}}),
			"0103010203040a0c0e"},
		{"amount", EncodeAmount(&hemera.QuotaAmount{Files: -1, Bytes: 2, Physical: 3}),
			"01010406"},
		{"boundary", EncodeBoundary(Boundary{To: 9, Taken: at, Restored: at.Add(time.Second)}),
			"0000000000000009f681d0e2c6bfce972ff6a9a69ccebfce972fffffffffffffffffff01"},
		{"pair", EncodePair(1, 2),
			"00000000000000010000000000000002"},
		{"key of entry", EntryKey(7, "f"),
			"6e65000000000000000766"},
		{"key of id", IDKey(TableLocation, 300),
			"6e69000000000000012c"},
		{"key of piece", PieceKey(1, 300, 1),
			"6e6400000001000000000000012c01"},
		{"key of unlinked", UnlinkedKey(1, p),
			"6e7500000001000000000000012c000000000000002a01"},
		{"key of held", HeldKey(1, p),
			"6e7700000001000000000000012c000000000000002a01"},
		{"key of due", DueKey(1, at, p),
			"6e68000000010000018bcfe56800000000000000012c000000000000002a01"},
		{"key of broken", BrokenKey(hemera.BadPiece{Disk: 1, Piece: p}),
			"6e6b00000001000000000000012c000000000000002a01"},
		{"key of event", EventKey(3),
			"6e6c0000000000000003"},
		{"key of account", AccountKey(TableAccount, 8, GroupAccount(5)),
			"6e6100000000000000080200000005"},
		{"key of boundary", BoundaryKey(3),
			"6e6d620000000000000003"},
		{"key of meta", MetaKey(MetaIDs),
			"6e6d69"},
		{"key of usage", DiskKey(TableUsage, 9),
			"6e6700000009"},
	} {
		if got := hex.EncodeToString(test.got); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
