package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// Names on a disk:
//
//	.hemera-disk                        the label
//	.hemera-scrub                       how far the scrub is
//	pending/<piece>                     a piece that is being written
//	pending/<piece>.sums                page CRCs of a large one that do not stay in memory
//	pending/<piece>.synced              page CRCs as of the last sync
//	<file id / 10000>/<piece>           a sealed piece
const (
	labelName    = ".hemera-disk"
	pendingName  = "pending"
	sumsSuffix   = ".sums"
	syncedSuffix = ".synced"
	// perDirectory consecutive file ids share a directory.
	perDirectory = 10000
)

// tree is the directories and names of one disk.
type tree struct {
	fs   vfs.FS
	path string // of the disk's root
}

// pendingDir returns the directory in which pieces are written: only one, so that one sync makes the names of many
// durable.
func (t *tree) pendingDir() string { return t.path + "/" + pendingName }

// pendingPath returns the path of a piece that is being written.
func (t *tree) pendingPath(id hemera.PieceID) string {
	return t.path + "/" + pendingName + "/" + id.String()
}

// sealedDir returns the directory of a file's sealed pieces.
func (t *tree) sealedDir(file hemera.FileID) string {
	return t.path + "/" + strconv.FormatUint(uint64(file)/perDirectory, 16)
}

// sealedPath returns the path of a sealed piece.
func (t *tree) sealedPath(id hemera.PieceID) string {
	return t.path + "/" + strconv.FormatUint(uint64(id.File)/perDirectory, 16) + "/" + id.String()
}

// pieceDirs returns the directories of sealed pieces, by number, in order.
func (t *tree) pieceDirs() ([]uint64, error) {
	names, err := t.fs.ReadDir(t.path)
	if err != nil {
		return nil, err
	}
	var dirs []uint64
	for _, name := range names {
		n, err := strconv.ParseUint(name, 16, 64)
		if err == nil && fmt.Sprintf("%x", n) == name { // no other spelling of the number
			dirs = append(dirs, n)
		}
	}
	slices.Sort(dirs)
	return dirs, nil
}

// piecesIn lists the pieces named in a directory of sealed pieces, in order of id.
func (t *tree) piecesIn(dir uint64) ([]hemera.PieceID, error) {
	names, err := t.fs.ReadDir(t.path + "/" + strconv.FormatUint(dir, 16))
	if err != nil {
		return nil, err
	}
	ids := make([]hemera.PieceID, 0, len(names))
	for _, name := range names {
		// A file that is not a piece, or is one of another directory, is not Hemera's, and stays.
		if id, err := hemera.ParsePieceID(name); err == nil && uint64(id.File)/perDirectory == dir {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, comparePieces)
	return ids, nil
}

// removePending removes the pending file and its side files, if they are there.
func (t *tree) removePending(id hemera.PieceID) error {
	// The file of sums has a name only for a moment; a crash in that moment leaves it.
	for _, name := range []string{t.pendingPath(id), t.pendingPath(id) + sumsSuffix, t.pendingPath(id) + syncedSuffix} {
		if err := t.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// comparePieces orders by file, then generation, then index.
func comparePieces(a, b hemera.PieceID) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Gen, b.Gen), cmp.Compare(a.Index, b.Index))
}

// parsePending reads a name of the pending directory: the piece, and whether it is a side file of it.
func parsePending(name string) (id hemera.PieceID, side, ok bool) {
	for _, suffix := range []string{sumsSuffix, syncedSuffix} {
		if of, is := strings.CutSuffix(name, suffix); is {
			name, side = of, true
			break
		}
	}
	id, err := hemera.ParsePieceID(name)
	return id, side, err == nil
}

// ignoreMissing returns err, or nil if it says that something is not there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
