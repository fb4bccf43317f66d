package maint

import (
	"sync"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// tally gathers the findings of many disks. It is safe for concurrent use.
type tally struct {
	repair bool // findings are repaired

	mu       sync.Mutex
	pieces   int64                                // seen on disks, whatever is wrong with them
	leaving  int64                                // of them, that the namespace has disks remove, or holds
	young    int64                                // of them, that no file has and that are too young to judge
	problems map[problemKey]*adminapi.FsckProblem // by tag and disk; counts are whole, lists are cut at problemsMax
	lost     map[hemera.FileID]bool               // counted already: a file is lost once, with however many pieces
	lacking  map[hemera.DiskID]bool               // disks without a piece that may be made again
}

// lack records that a disk lacks a piece that may be made again.
func (t *tally) lack(disk hemera.DiskID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lacking == nil {
		t.lacking = map[hemera.DiskID]bool{}
	}
	t.lacking[disk] = true
}

func (t *tally) lacks(disk hemera.DiskID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lacking[disk]
}

// count counts one piece in a sum of the tally.
func (t *tally) count(sum *int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*sum++
}

// problemKey is one line of a report: a kind of problem on a disk.
type problemKey struct {
	tag  string
	disk hemera.DiskID // 0 for problems of no one disk, such as files that lack pieces
}

// add counts a problem of a file, and names the file while the report has room.
func (t *tally) add(tag string, disk hemera.DiskID, file hemera.FileID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := problemKey{tag, disk}
	p := t.problems[key]
	if p == nil {
		p = &adminapi.FsckProblem{Tag: tag, Disk: disk}
		t.problems[key] = p
	}
	p.Count++
	if len(p.Files) < problemsMax {
		p.Files = append(p.Files, file)
	}
}

// addPiece counts a problem of a piece that the namespace does not have. Only the piece has a path.
func (t *tally) addPiece(tag string, disk hemera.DiskID, s hemera.PieceStat) {
	t.add(tag, disk, s.ID.File)
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.problems[problemKey{tag, disk}]
	// Not every piece names a path. It is a hint for people, and nothing is decided by it.
	if s.Path == "" || len(p.Paths) >= problemsMax {
		return
	}
	if p.Paths == nil {
		p.Paths = map[hemera.FileID]string{}
	}
	p.Paths[s.ID.File] = s.Path
}

// addLost counts a lost file, each once.
func (t *tally) addLost(disk hemera.DiskID, file hemera.FileID) {
	t.mu.Lock()
	known := t.lost[file]
	if t.lost == nil {
		t.lost = map[hemera.FileID]bool{}
	}
	t.lost[file] = true
	t.mu.Unlock()
	if !known {
		t.add(tagLost, disk, file)
	}
}
