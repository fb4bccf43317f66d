package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"hemera"
	"hemera/rules/layout"
)

// checkParity reads all pieces of every coded file from the drives, past every server, and compares them: data must be the
// content that the oracle allows, and parity that of the data. What a reader sees may be right where parity is not.
func (w judge) checkParity(ctx context.Context) {
	files, _, _ := w.tree(ctx)
	for path, e := range files {
		if !e.Layout.Coded() || e.Size == 0 || w.lost[e.ID] {
			continue
		}
		if err := w.agrees(path, e); err != nil {
			w.fail("%s, fxid %s gen %d, layout %s, %d bytes: %v", path, e.ID.Hex(), e.Gen, e.Layout, e.Size, err)
		}
	}
}

// agrees compares the pieces of one file with each other and with the oracle. A file that lacks pieces, because there are too
// few disks for them, is compared as far as it goes.
func (w judge) agrees(path string, e hemera.Entry) error {
	have := map[uint8][]byte{}
	for _, p := range e.Pieces {
		b, err := w.pieceBytes(e, p)
		if err != nil && !w.there(p.Disk) {
			continue // and there is no other disk for the piece, or it would have one
		}
		if err != nil {
			return fmt.Errorf("piece %d on disk %d: %w", p.Index, p.Disk, err)
		}
		have[p.Index] = b
	}
	content := joined(e.Layout, e.Size, have)
	if content == nil {
		return nil // a data piece is missing
	}
	may := w.oracle.written(e.ID, e.Gen)
	if named := !isVersion(path) && !strings.HasPrefix(path, backDir+"/"); named {
		may = w.oracle.possible(path)
	}
	if found := contentOf(content); !slices.Contains(may, found) {
		return fmt.Errorf("the data pieces have %s", found)
	}
	want, err := cut(e.Layout, content)
	if err != nil {
		return err
	}
	for index, b := range have {
		if !bytes.Equal(b, want[index]) {
			return fmt.Errorf("piece %d has %d bytes that are not those of the data, which make %d", index, len(b), len(want[index]))
		}
	}
	return nil
}

// pieceBytes is what a drive has of a piece.
func (w judge) pieceBytes(e hemera.Entry, p hemera.Piece) ([]byte, error) {
	d, ok := w.head.Load().Cluster().View().Disk(p.Disk)
	if !ok {
		return nil, fmt.Errorf("the disk is not known")
	}
	return w.drive(d).pieceBytes(hemera.PieceID{File: e.ID, Gen: e.Gen, Index: p.Index})
}

// pieceBytes is what the drive has of a piece, read without the delays and faults of the store around it.
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

// there reports whether the disk is in the cluster, with its drive.
func (w judge) there(id hemera.DiskID) bool {
	d, ok := w.head.Load().Cluster().View().Disk(id)
	return ok && !w.drive(d).gone.Load()
}

// joined is the content of a file from its data pieces, block by block; nil if one of them is missing.
func joined(l hemera.Layout, size int64, pieces map[uint8][]byte) []byte {
	var content []byte
	for block := 0; int64(len(content)) < size; block++ {
		column := uint8(block % int(l.Data))
		b, ok := pieces[column]
		from := min(block/int(l.Data)*int(l.BlockSize), len(b))
		if !ok {
			return nil
		}
		content = append(content, b[from:min(from+int(l.BlockSize), len(b))]...)
		if from == len(b) {
			break // too short, which the oracle sees
		}
	}
	return content
}

// cut makes all pieces of a content: the slow twin of what a head does. Rows are coded one by one, with zeros behind the end.
// A parity ends where the longest of the columns ends that it changes with.
func cut(l hemera.Layout, content []byte) ([][]byte, error) {
	code, err := layout.Code(l)
	if err != nil {
		return nil, err
	}
	block, data := int(l.BlockSize), int(l.Data)
	pieces, ends := make([][]byte, l.Pieces), make([]int, l.Pieces)
	for row := content; len(row) > 0; row = row[min(len(row), block*data):] {
		blocks := make([][]byte, l.Pieces)
		for i := range blocks {
			blocks[i] = make([]byte, block)
			if i < data {
				ends[i] += copy(blocks[i], row[min(len(row), i*block):min(len(row), (i+1)*block)])
			}
		}
		if code != nil {
			if err := code.Encode(blocks); err != nil {
				return nil, err
			}
		}
		for i := range pieces {
			pieces[i] = append(pieces[i], blocks[i]...)
		}
	}
	for i := range data {
		if code == nil {
			break
		}
		for parity := range code.Affected(i).All() {
			ends[parity] = max(ends[parity], ends[i])
		}
	}
	for i := range pieces {
		pieces[i] = pieces[i][:ends[i]]
	}
	return pieces, nil
}
