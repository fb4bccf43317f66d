package disk

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func contentOf(data []byte) Content {
	c := Content{Data: data, Sums: make([]uint32, checksum.Fragments(0, len(data)))}
	checksum.PageSums(data, 0, c.Sums)
	return c
}

func putPiece(d *Disk, id hemera.PieceID, data []byte, sync bool) (hemera.PieceStat, error) {
	return d.Put(id, CreateOptions{Path: "/x"}, contentOf(data), hemera.SealInfo{FileSize: int64(len(data)), Sync: sync})
}

// fileOf returns a piece's whole file.
func fileOf(t *testing.T, d *memoryDisk, id hemera.PieceID) []byte {
	t.Helper()
	f, err := d.memory.Open(d.sealedPath(id), os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stepwise is a Store that has no Put of its own.
type stepwise struct{ Store }

// A piece that is made at once is byte for byte that which is made step by step.
func TestPutIsCreateWriteSeal(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	for i, size := range []int{1, 4095, 4096, 4097, 65536, blockSums*hemera.PageSize + 1} {
		data := randomBytes(uint64(i), size)
		sums := contentOf(data).Sums
		crc, err := checksum.Of(hemera.CRC32C, data)
		if err != nil {
			t.Fatal(err)
		}
		info := hemera.SealInfo{FileSize: int64(size), Checksums: []hemera.Checksum{crc}}
		var files [][]byte
		var stats []string
		for _, store := range []Store{d.Disk, stepwise{d.Disk}} {
			id := pieceID(1)
			stat, err := Put(store, id, CreateOptions{Path: "/x", SizeHint: 1 << 20}, Content{Data: data, Sums: sums}, info)
			if err != nil {
				t.Fatal(err)
			}
			files, stats = append(files, fileOf(t, d, id)), append(stats, fmt.Sprint(stat))
			r, err := d.Disk.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			checkRead(t, r, data, 0, size+1)
			_ = r.Close()
			if n := d.Status().Pieces; n != 1 {
				t.Errorf("the disk counts %d pieces", n)
			}
			if err := d.Remove(id); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(files[0], files[1]) || stats[0] != stats[1] {
			t.Errorf("%d bytes: files of %d and %d bytes; %s and %s", size, len(files[0]), len(files[1]), stats[0], stats[1])
		}
	}
	_, err := d.Put(pieceID(1), CreateOptions{}, Content{Data: make([]byte, 4097), Sums: make([]uint32, 1)}, hemera.SealInfo{FileSize: 4097})
	wantKind(t, "put with too few checksums", err, errs.Invalid)
}

// What has the piece's name already is treated as by Create.
func TestPutOverOthers(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	id, one, two := pieceID(1), []byte("one"), []byte("two, longer")
	if _, err := putPiece(d.Disk, id, one, true); err != nil {
		t.Fatal(err)
	}
	_, err := putPiece(d.Disk, id, two, true)
	wantKind(t, "put of a sealed piece", err, errs.Exists)
	r, err := d.Disk.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	checkRead(t, r, one, 0, 4)
	_ = r.Close()

	for name, before := range map[string]func(){
		"removed": func() {},
		"junk": func() {
			if err := writeFile(d.memory, d.sealedPath(id), "cut by a crash"); err != nil {
				t.Fatal(err)
			}
		},
		"pending": func() {
			w, err := d.Create(id, CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { wantKind(t, "write after", w.WritePages([]byte("late"), nil, 0), errs.Conflict) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := d.Remove(id); err != nil {
				t.Fatal(err)
			}
			before()
			if _, err := putPiece(d.Disk, id, two, true); err != nil {
				t.Fatal(err)
			}
			r, err := d.Disk.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			checkRead(t, r, two, 0, 100)
			_ = r.Close()
			if names, err := d.memory.ReadDir("/d/" + pendingName); err != nil || len(names) > 0 {
				t.Errorf("left in pending: %v, %v", names, err)
			}
		})
	}
}

// A piece that cannot be made leaves nothing behind, whichever step fails, and can be made again.
func TestPutThatFails(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRename, vfs.OpMkdir} {
		t.Run(string(op), func(t *testing.T) {
			d := newMemoryDisk(t, 0, Options{})
			d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{op}, Err: syscall.ENOSPC, Short: true})
			_, err := putPiece(d.Disk, pieceID(1), randomBytes(1, 9000), true)
			wantKind(t, "put", err, errs.NoSpace)
			d.faulty.Heal()
			if names, err := d.memory.ReadDir("/d/" + pendingName); err != nil || len(names) > 0 {
				t.Errorf("left in pending: %v, %v", names, err)
			}
			_, err = d.Disk.Open(pieceID(1))
			wantKind(t, "open", err, errs.NotFound)
			if n := d.Status(); n.Pieces != 0 || n.Load.WriteOpens != 0 {
				t.Errorf("the disk counts %d pieces and %d open", n.Pieces, n.Load.WriteOpens)
			}
			if _, err := putPiece(d.Disk, pieceID(1), randomBytes(1, 9000), true); err != nil {
				t.Error(err)
			}
		})
	}
}

// A piece that would take of the headroom is refused.
func TestPutLeavesTheHeadroom(t *testing.T) {
	d := newMemoryDisk(t, 1<<20, Options{Headroom: 1<<20 - 40<<10})
	_, err := putPiece(d.Disk, pieceID(1), randomBytes(1, 60_000), false)
	wantKind(t, "put", err, errs.NoSpace)
	if _, err := putPiece(d.Disk, pieceID(1), randomBytes(1, 10_000), false); err != nil {
		t.Error(err)
	}
}

// TestASealComparesThePiece: with the piece's own checksum, and that of the file if the piece is a copy of it. Nothing is left of
// a piece that has other bytes.
func TestASealComparesThePiece(t *testing.T) {
	d := newMemoryDisk(t, 0, Options{})
	for _, size := range []int{1, 4096, 10_000, blockSums*hemera.PageSize + 4097} {
		data := randomBytes(uint64(size), size)
		right, err := checksum.Of(hemera.CRC32C, data)
		if err != nil {
			t.Fatal(err)
		}
		wrong := right
		wrong.Value[3] ^= 1
		coded := hemera.ReedSolomon(2, 1)
		for name, c := range map[string]struct {
			layout hemera.Layout
			file   hemera.Checksum
			piece  hemera.Checksum
			ok     bool
		}{
			"a copy":              {hemera.Replica(2), right, hemera.Checksum{}, true},
			"a wrong copy":        {hemera.Replica(2), wrong, hemera.Checksum{}, false},
			"a coded piece":       {coded, wrong, right, true},
			"a wrong coded piece": {coded, right, wrong, false},
			"not known":           {coded, wrong, hemera.Checksum{}, true},
		} {
			for _, store := range []Store{d.Disk, stepwise{d.Disk}} {
				id := pieceID(1)
				info := hemera.SealInfo{FileSize: int64(size), Checksums: []hemera.Checksum{c.file}, Piece: c.piece}
				_, err := Put(store, id, CreateOptions{Path: "/x", Layout: c.layout}, contentOf(data), info)
				if c.ok != (err == nil) || !c.ok && errs.KindOf(err) != errs.Corrupt {
					t.Errorf("%s of %d bytes: %v", name, size, err)
				}
				if n := d.Status().Pieces; (n == 1) != c.ok {
					t.Errorf("%s of %d bytes: %d pieces", name, size, n)
				}
				_ = d.Remove(id)
			}
		}
	}
	// Zeros that were never written count as zeros.
	w, err := d.Create(pieceID(1), CreateOptions{Layout: hemera.Replica(1), Sparse: true})
	if err != nil {
		t.Fatal(err)
	}
	const size = 3*blockSums*hemera.PageSize + 100
	if err := w.Truncate(size); err != nil {
		t.Fatal(err)
	}
	zeros, _ := checksum.Of(hemera.CRC32C, make([]byte, size))
	if _, err := w.Seal(hemera.SealInfo{FileSize: size, Checksums: []hemera.Checksum{zeros}}); err != nil {
		t.Error(err)
	}
}
