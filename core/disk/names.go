package disk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hemera"
)

// Names on a disk:
//
//	.hemera-disk                        the label
//	.hemera-scrub                       how far the scrub is
//	pending/<piece>                     a piece that is being written
//	pending/<piece>.sums                page CRCs of a large one that do not stay in memory
//	<file id / 10000>/<piece>           a sealed piece
const (
	labelName   = ".hemera-disk"
	pendingName = "pending"
	sumsSuffix  = ".sums"
	// perDirectory consecutive file ids share a directory.
	perDirectory = 10000
)

func (d *Disk) pendingDir() string { return d.path + "/" + pendingName }

func (d *Disk) pendingPath(id hemera.PieceID) string {
	return d.path + "/" + pendingName + "/" + id.String()
}

func (d *Disk) sealedDir(file hemera.FileID) string {
	return d.path + "/" + strconv.FormatUint(uint64(file)/perDirectory, 16)
}

func (d *Disk) sealedPath(id hemera.PieceID) string {
	return d.path + "/" + strconv.FormatUint(uint64(id.File)/perDirectory, 16) + "/" + id.String()
}

// pieceDirs are the directories of sealed pieces, by number, in order.
func (d *Disk) pieceDirs() ([]uint64, error) {
	names, err := d.fs.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var dirs []uint64
	for _, name := range names {
		n, err := strconv.ParseUint(name, 16, 64)
		if err == nil && fmt.Sprintf("%x", n) == name {
			dirs = append(dirs, n)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// piecesIn lists the pieces named in a directory of sealed pieces, in order of id.
func (d *Disk) piecesIn(dir uint64) ([]hemera.PieceID, error) {
	names, err := d.fs.ReadDir(d.path + "/" + strconv.FormatUint(dir, 16))
	if err != nil {
		return nil, err
	}
	ids := make([]hemera.PieceID, 0, len(names))
	for _, name := range names {
		if id, err := hemera.ParsePieceID(name); err == nil && uint64(id.File)/perDirectory == dir {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, comparePieces)
	return ids, nil
}

// comparePieces orders by file, then generation, then index.
func comparePieces(a, b hemera.PieceID) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Index, b.Index))
}

// parsePending reads a name of the pending directory: the piece, and whether it is its side file.
func parsePending(name string) (id hemera.PieceID, side, ok bool) {
	name, side = strings.CutSuffix(name, sumsSuffix)
	id, err := hemera.ParsePieceID(name)
	return id, side, err == nil
}
