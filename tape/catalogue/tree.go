package catalogue

import (
	"context"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Tree has the calls to the namespace by which the catalogue makes files of tape files. [New] gets it. None of it may be called
// within a change.
type Tree interface {
	// MakeParents makes the directories above a path that are missing, as the system, with the mode.
	MakeParents(ctx context.Context, path string, mode uint32) error
	// Lost reports whether a content of that time may be one that the namespace lost.
	Lost(p hemera.PieceID, at time.Time) bool
	// Restored reports whether the namespace was restored or prepared for a rebuild: what other
	// systems know under its ids may be its own.
	Restored() bool
}

// returning is a transaction that makes files.
type returning struct{ txn Txn }

// LostDir has the files whose path a tape does not tell: LostDir/VID/fSeq, of members of a
// container LostDir/VID/fSeq.member. Only admins may enter it, as nobody knows who might see them.
const LostDir = "/lost+found/tape"

// Modes of what is made on the way.
const (
	lostMode    = 0o700
	parentsMode = 0o755
	// unreadMode is the mode of files whose owner a tape does not tell.
	unreadMode = 0o600
)

// namesOf returns the names of a path where a file can be made, nil for any other.
func namesOf(path string) []string {
	if len(path) > hemera.PathMax || !strings.HasPrefix(path, "/") {
		return nil
	}
	// An empty name, of a slash too many, is refused with the others.
	names := strings.Split(path[1:], "/")
	if len(names) > hemera.DepthMax {
		return nil
	}
	for _, name := range names {
		if len(name) > hemera.NameMax || hemera.CheckName(name) != nil {
			return nil
		}
	}
	return names
}

// spot is the end of a path: the directories above its last name, the root first, and the entry of that name, nil for
// none.
type spot struct {
	dirs  []*hemera.Entry
	name  string
	entry *hemera.Entry
}

// parent returns the directory of the last name.
func (s spot) parent() *hemera.Entry { return s.dirs[len(s.dirs)-1] }

// Why a path leads nowhere.
type nowhere uint8

const (
	leads   nowhere = iota
	missing         // a directory above it is missing
	blocked         // a file is where a directory must be
)

// follow goes along names from the root, and asks for no rights: an admin has ordered it.
func (t returning) follow(names []string) (s spot, why nowhere, err error) {
	if s.entry, err = t.txn.Root(); err != nil {
		return s, leads, err
	}
	// Each turn goes into what the last one found.
	for _, name := range names {
		switch dir := s.entry; {
		case dir == nil:
			return s, missing, nil
		case !dir.IsDir():
			return s, blocked, nil
		}
		s.dirs, s.name = append(s.dirs, s.entry), name
		if s.entry, err = t.txn.Entry(s.parent().ID, name); err != nil {
			return s, leads, err
		}
	}
	return s, leads, nil
}
