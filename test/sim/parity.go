package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"hemera/test/sim/register"
	"hemera/test/sim/simdisk"
	"hemera/words/hemera"
)

// checkParity reads all pieces of every coded file from the drives, past every server, and compares them: data must be the
// content that the oracle allows, and parity that of the data. What a reader sees may be right where parity is not.
func (j judge) checkParity(ctx context.Context) {
	files, _, _ := j.w.tree(ctx)
	for path, e := range files {
		if !e.Layout.Coded() || e.Size == 0 || e.Evicted() || j.w.lost[e.ID] {
			continue
		}
		if err := j.agrees(path, e); err != nil {
			j.w.fail("%s, fxid %s gen %d, layout %s, %d bytes: %v", path, e.ID.Hex(), e.Gen, e.Layout, e.Size, err)
		}
	}
}

// agrees compares the pieces of one file with each other and with the oracle. A file that lacks pieces, because there are too
// few disks for them, is compared as far as it goes.
func (j judge) agrees(path string, e hemera.Entry) error {
	// Every piece that a drive has, by its place in the file.
	have := map[uint8][]byte{}
	for _, p := range e.Pieces {
		b, err := j.pieceBytes(e, p)
		if err != nil && !j.there(p.Disk) {
			continue // and there is no other disk for the piece, or it would have one
		}
		if err != nil {
			return fmt.Errorf("piece %d on disk %d: %w", p.Index, p.Disk, err)
		}
		have[p.Index] = b
	}
	content := simdisk.Joined(e.Layout, e.Size, have)
	if content == nil {
		return nil // a data piece is missing
	}
	may := j.w.oracle.Written(&e)
	if named := !isVersion(path) && !strings.HasPrefix(path, backDir+"/"); named {
		may = j.w.oracle.Possible(path)
	}
	if found := register.ContentOf(content); !slices.Contains(may, found) {
		return fmt.Errorf("the data pieces have %s", found)
	}
	want, err := simdisk.Cut(e.Layout, content)
	if err != nil {
		return err
	}
	// Parity that nobody reads may be wrong for years: here it is compared.
	for index, b := range have {
		if !bytes.Equal(b, want[index]) {
			return fmt.Errorf("piece %d has %d bytes that are not those of the data, which make %d", index, len(b), len(want[index]))
		}
	}
	return nil
}

// pieceBytes returns the bytes of a piece on a drive.
func (j judge) pieceBytes(e hemera.Entry, p hemera.Piece) ([]byte, error) {
	d, ok := j.w.head.Load().Cluster.View().Disk(p.Disk)
	if !ok {
		return nil, fmt.Errorf("the disk is not known")
	}
	return j.w.drive(d).pieceBytes(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index})
}

// pieceBytes returns the bytes of a piece on the drive, read without the delays and faults of the store around it.
func (d *drive) pieceBytes(id hemera.PieceID) ([]byte, error) {
	r, err := d.store.Load().Disk.Open(id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	b := make([]byte, r.Stat().Size)
	_, err = r.ReadPages(b, nil, 0)
	return b, err
}
