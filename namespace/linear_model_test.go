package namespace_test

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// seqTree is the namespace as one caller after the other would see it: the sequential specification
// that concurrent histories are held against. States are never changed, only replaced.
type seqTree struct {
	nodes    map[hemera.FileID]seqNode
	unlinked map[seqPiece]bool
	removed  map[hemera.FileID]bool
	events   int
	recycles bool // files that are removed or replaced go to a bin; it never changes
}

// seqBinned is the parent of files in bins.
const seqBinned = hemera.FileID(0)

type seqNode struct {
	parent hemera.FileID
	name   string
	dir    bool
	size   int64
	gen    hemera.Generation
	uid    uint32
	attr   string
	limit  bool             // user 1 has a quota on it
	disks  [2]hemera.DiskID // of a file: one replica each
}

type seqPiece struct {
	disk hemera.DiskID
	id   hemera.PieceID
}

func newSeqTree(recycles bool) *seqTree {
	return &seqTree{
		recycles: recycles,
		nodes:    map[hemera.FileID]seqNode{hemera.RootID: {parent: hemera.RootID, dir: true}},
		unlinked: map[seqPiece]bool{},
		removed:  map[hemera.FileID]bool{},
	}
}

func (s *seqTree) clone() *seqTree {
	return &seqTree{maps.Clone(s.nodes), maps.Clone(s.unlinked), maps.Clone(s.removed), s.events, s.recycles}
}

func (s *seqTree) equal(o *seqTree) bool {
	return s.events == o.events && maps.Equal(s.nodes, o.nodes) && maps.Equal(s.unlinked, o.unlinked) && maps.Equal(s.removed, o.removed)
}

var seqSeed = maphash.MakeSeed()

func (s *seqTree) hash() uint64 {
	sum := uint64(s.events)
	for id, n := range s.nodes {
		sum += maphash.Comparable(seqSeed, n) ^ maphash.Comparable(seqSeed, id)
	}
	for p := range s.unlinked {
		sum += maphash.Comparable(seqSeed, p)
	}
	return sum
}

func (s *seqTree) child(dir hemera.FileID, name string) (hemera.FileID, bool) {
	for id, n := range s.nodes {
		if n.parent == dir && n.name == name && id != hemera.RootID {
			return id, true
		}
	}
	return 0, false
}

// seqFound is the end of a path: the directories above it, and the id there, 0 if there is none.
type seqFound struct {
	dirs []hemera.FileID
	name string
	id   hemera.FileID
}

func (f seqFound) parent() hemera.FileID { return f.dirs[len(f.dirs)-1] }

func (s *seqTree) walk(path string) (seqFound, errs.Kind) {
	f := seqFound{id: hemera.RootID}
	if path == "/" {
		return f, ok
	}
	names := strings.Split(path[1:], "/")
	for i, name := range names {
		if !s.nodes[f.id].dir {
			return f, errs.NotDirectory
		}
		f.dirs, f.name = append(f.dirs, f.id), name
		var there bool
		if f.id, there = s.child(f.id, name); !there {
			if i+1 < len(names) {
				return f, errs.NotFound
			}
			return f, ok
		}
	}
	return f, ok
}

func (s *seqTree) existing(path string) (seqFound, errs.Kind) {
	f, k := s.walk(path)
	if k == ok && f.id == 0 {
		k = errs.NotFound
	}
	return f, k
}

func (s *seqTree) path(id hemera.FileID) string {
	if id == hemera.RootID {
		return "/"
	}
	p := ""
	if s.nodes[id].parent == seqBinned {
		return "in a bin"
	}
	for ; id != hemera.RootID; id = s.nodes[id].parent {
		p = "/" + s.nodes[id].name + p
	}
	return p
}

func (s *seqTree) below(dir, id hemera.FileID) bool {
	for id != hemera.RootID && id != seqBinned {
		if id = s.nodes[id].parent; id == dir {
			return true
		}
	}
	return false
}

func (s *seqTree) totals(dir hemera.FileID) (t hemera.TreeTotals) {
	for id, n := range s.nodes {
		switch {
		case !s.below(dir, id):
		case n.dir:
			t.Dirs++
		default:
			t = t.Add(hemera.TreeTotals{Files: 1, Bytes: n.size, Physical: 2 * n.size})
		}
	}
	return t
}

func (s *seqTree) children(dir hemera.FileID) map[string]hemera.FileID {
	out := map[string]hemera.FileID{}
	for id, n := range s.nodes {
		if n.parent == dir && id != hemera.RootID {
			out[n.name] = id
		}
	}
	return out
}

func (s *seqTree) usage(disk hemera.DiskID) (pieces, bytes int64) {
	for _, n := range s.nodes {
		if !n.dir && slices.Contains(n.disks[:], disk) {
			pieces, bytes = pieces+1, bytes+n.size
		}
	}
	return pieces, bytes
}

// drop has a file's pieces removed.
func (s *seqTree) drop(id hemera.FileID) {
	n := s.nodes[id]
	for i, disk := range n.disks {
		s.unlinked[seqPiece{disk, hemera.PieceID{File: id, Gen: n.gen, Index: uint8(i)}}] = true
	}
}

// unlink takes a file, or an empty directory, away, or to a bin.
func (s *seqTree) unlink(id hemera.FileID) errs.Kind {
	if n := s.nodes[id]; s.recycles && !n.dir && n.parent != seqBinned {
		n.parent, n.name = seqBinned, ""
		s.nodes[id] = n
		return ok
	}
	if s.nodes[id].dir {
		if len(s.children(id)) > 0 {
			return errs.NotEmpty
		}
	} else {
		s.drop(id)
		s.removed[id] = true
	}
	delete(s.nodes, id)
	return ok
}

// seqModel returns the specification as the checker takes it.
func seqModel(recycles bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return newSeqTree(recycles) },
		Step: func(state, input, output any) (bool, any) {
			s, c, r := state.(*seqTree), input.(seqCall), output.(seqReply)
			good, next := s.step(c, r)
			return good, next
		},
		Equal: func(a, b any) bool { return a.(*seqTree).equal(b.(*seqTree)) },
		Hash:  func(a any) uint64 { return a.(*seqTree).hash() },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%v -> %v", input.(seqCall), output.(seqReply))
		},
		DescribeState: func(state any) string {
			s := state.(*seqTree)
			var out []string
			for id, n := range s.nodes {
				out = append(out, fmt.Sprintf("%s=%d dir=%t size=%d gen=%d uid=%d %q", s.path(id), id, n.dir, n.size, n.gen, n.uid, n.attr))
			}
			slices.Sort(out)
			return strings.Join(out, "\n") + fmt.Sprintf("\n%d events, to remove %v", s.events, slices.Collect(maps.Keys(s.unlinked)))
		},
	}
}
