package disk

import (
	"errors"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestOneBadByteIsOneFault: however often a bad place is read, by whatever way, the disk is as well as
// before. Other places count, and so does the same place once it was mended and went bad again.
func TestOneBadByteIsOneFault(t *testing.T) {
	const size = 3*hemera.PageSize + 100
	data := randomBytes(1, size)
	for name, at := range map[string]int64{"page": 5000, "table": tableOff(size) + 3, "footer": footerOff(size) + 20} {
		t.Run(name, func(t *testing.T) {
			d := newMemoryDisk(t, 0, Options{})
			store(t, d.Disk, pieceID(1), data, size)
			d.open.forget(pieceID(1))
			if err := d.memory.Corrupt(d.sealedPath(pieceID(1)), at, 1); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				d.open.forget(pieceID(1)) // as after a while: nothing of it is in memory
				r, err := d.Open(pieceID(1))
				if err == nil {
					_, err = r.Verify()
					_, _ = r.ReadPages(make([]byte, size), nil, 0)
					_ = r.Close()
				}
				if at >= footerOff(size) && err == nil {
					t.Fatal("a bad footer is not noticed")
				}
				if _, err := d.Scan(hemera.PieceID{}, 10); err != nil {
					t.Fatal(err)
				}
			}
			wantHealth(t, d, hemera.HealthOK)
			if n := d.Status().Load.ChecksumErrors; n != 1 {
				t.Errorf("%d checksum errors were counted, want 1", n)
			}
		})
	}
	d := newMemoryDisk(t, 0, Options{})
	store(t, d.Disk, pieceID(1), data, size)
	r, err := d.Open(pieceID(1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for round := range int64(int(faultLimit)) {
		wantHealth(t, d, hemera.HealthOK)
		if err := d.memory.Corrupt(d.sealedPath(pieceID(1)), 0, 1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if bad, err := r.Verify(); len(bad) != 1 || err != nil {
				t.Fatal(bad, err)
			}
		}
		if err := d.RepairPages(pieceID(1), data[:hemera.PageSize], 0); err != nil && round+1 < int64(faultLimit) {
			t.Fatal(err)
		}
	}
	wantHealth(t, d, hemera.HealthFailing)
}

// TestBadPlacesAreBounded: what is forgotten for the sake of others counts again.
func TestBadPlacesAreBounded(t *testing.T) {
	var b badPlaces
	for round := range 2 {
		for i := range badPlacesMax + 1 {
			if !b.first(badPlace{pieceID(i), 0}) {
				t.Fatalf("round %d: place %d is known", round, i)
			}
		}
	}
	if len(b.known) > badPlacesMax || len(b.order) > badPlacesMax {
		t.Errorf("%d places are known, in a ring of %d", len(b.known), len(b.order))
	}
	b.replaced(pieceID(badPlacesMax))
	if !b.first(badPlace{pieceID(badPlacesMax), 0}) {
		t.Error("a piece that was replaced is still bad")
	}
}

// TestScanLooksAtTables: a piece whose checksums are bad is missing to an audit, one whose end the device
// cannot read does not end it.
func TestScanLooksAtTables(t *testing.T) {
	const large = (blockSums + 5) * hemera.PageSize
	d := newMemoryDisk(t, 0, Options{})
	for i := range 4 {
		store(t, d.Disk, pieceID(i+1), randomBytes(uint64(i), large), large)
	}
	if err := d.memory.Corrupt(d.sealedPath(pieceID(2)), tableOff(large)+blockSize+5, 1); err != nil {
		t.Fatal(err)
	}
	d.open.forget(pieceID(3))
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: pieceID(3).String(), Err: syscall.EIO})
	found, err := d.Scan(hemera.PieceID{}, 10)
	if err != nil || len(found) != 2 || found[0].ID != pieceID(1) || found[1].ID != pieceID(4) {
		t.Errorf("found %v, %v", found, err)
	}
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: "*", Err: syscall.EIO})
	for i := range scanFaults + 1 {
		d.faulty.Heal()
		store(t, d.Disk, pieceID(i+10), randomBytes(1, 100), 100)
		d.open.forget(pieceID(i + 10))
	}
	d.faulty.Inject(vfs.Fault{Ops: []vfs.Op{vfs.OpRead}, Pattern: "*", Err: syscall.EIO})
	if _, err := d.Scan(pieceID(4), 100); !errors.Is(err, errs.IO) {
		t.Errorf("a disk that cannot be read: %v", err)
	}
}
