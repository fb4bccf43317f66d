package namespace_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// seqCall is one question or change; the fields that its verb has no use for are empty.
type seqCall struct {
	verb   string
	path   string
	to     string
	id     hemera.FileID
	disk   hemera.DiskID
	kind   hemera.EntryKind
	uid    uint32
	value  string
	who    string // names the call in the event log
	commit namespace.Commit
	again  bool // an earlier answer to the commit was not heard: it may have been a refusal, which stays one
	pieces []hemera.PieceID
}

func (c seqCall) String() string {
	switch c.verb {
	case "commit":
		return fmt.Sprintf("commit fid=%d gen=%d base=%d of %d %d/%s size=%d", c.commit.ID, c.commit.Gen, c.commit.BaseGen, c.commit.Replaces, c.commit.Parent, c.commit.Name, c.commit.Size)
	case "rename":
		return "rename " + c.path + " " + c.to
	case "restore", "purge":
		return fmt.Sprintf("%s fid=%d %s", c.verb, c.id, c.to)
	case "children":
		return fmt.Sprintf("children of %d", c.id)
	case "resolve":
		return fmt.Sprintf("resolve %d", c.id)
	case "usage", "unlinked":
		return fmt.Sprintf("%s of disk %d", c.verb, c.disk)
	case "forget":
		return fmt.Sprintf("forget disk %d %v", c.disk, c.pieces)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.verb, c.path, c.value))
}

// seqReply is the answer. An unknown one is a change that may have happened, or may happen at any time later. event is
// the sequence number of the change's first event, 0 if it left none.
type seqReply struct {
	unknown  bool
	event    int
	kind     errs.Kind
	entry    hemera.Entry
	path     string
	names    map[string]hemera.FileID
	unlinked []hemera.PieceID
	numbers  [2]int64
}

func (r seqReply) String() string {
	switch {
	case r.unknown:
		return "?"
	case r.kind != ok:
		return r.kind.String()
	}
	return strings.TrimSpace(fmt.Sprintf("fid=%d parent=%d size=%d gen=%d uid=%d %+v %s %v %v %v event %d",
		r.entry.ID, r.entry.Parent, r.entry.Size, r.entry.Gen, r.entry.UID, r.entry.Tree, r.path, r.names, r.unlinked, r.numbers, r.event))
}

// step says whether the reply is right in this state, and what the state is afterwards.
func (s *seqTree) step(c seqCall, r seqReply) (bool, *seqTree) {
	switch c.verb {
	case "mkdir", "commit", "rename", "remove", "chown", "setattr", "forget", "setquota", "rmquota", "restore", "purge":
		// What is a quota node stays one until the counter is done with it, and does not move or go.
		if c.verb == "rename" && r.kind == errs.Unsupported || c.verb == "remove" && r.kind == errs.Denied {
			return true, s
		}
		if c.again && r.kind == errs.Conflict {
			return true, s
		}
		next := s.clone()
		k := next.change(c, r)
		switch {
		case k != ok:
			return r.unknown || k == r.kind, s
		case r.unknown: // of those, only forgetting leaves no event
			return true, next
		case next.events > s.events:
			return r.kind == ok && r.event == s.events+1, next
		}
		return r.kind == ok && r.event == 0, next
	case "stat":
		return s.stat(c, r)
	case "prepare":
		return s.prepare(c, r)
	case "isdir":
		f, k := s.existing(c.path)
		if k == ok && !s.nodes[f.id].dir {
			k = errs.NotDirectory
		}
		return k == r.kind, s
	case "children":
		return s.nodes[c.id].dir && maps.Equal(s.children(c.id), r.names), s
	case "resolve":
		return s.resolve(c, r)
	case "usage":
		pieces, bytes := s.usage(c.disk)
		return r.numbers == [2]int64{pieces, bytes}, s
	case "unlinked":
		var want []hemera.PieceID
		for p := range s.unlinked {
			if p.disk == c.disk {
				want = append(want, p.id)
			}
		}
		return len(want) == len(r.unlinked) && !slices.ContainsFunc(want, func(p hemera.PieceID) bool { return !slices.Contains(r.unlinked, p) }), s
	case "events":
		return r.numbers[0] == int64(s.events), s
	}
	panic(c.verb)
}

func (s *seqTree) stat(c seqCall, r seqReply) (bool, *seqTree) {
	f, k := s.existing(c.path)
	if k != ok || r.kind != ok {
		return k == r.kind, s
	}
	n, e := s.nodes[f.id], r.entry
	if e.IsDir() != n.dir || e.UID != n.uid || string(e.Xattrs["user.a"]) != n.attr || e.Size != n.size || e.Gen != n.gen {
		return false, s
	}
	if n.dir && e.Tree != s.totals(f.id) {
		return false, s
	}
	return f.id == e.ID, s
}

func (s *seqTree) prepare(c seqCall, r seqReply) (bool, *seqTree) {
	f, k := s.walk(c.path)
	if k == ok && f.id != 0 && s.nodes[f.id].dir {
		k = errs.IsDirectory
	}
	if k != ok || r.kind != ok {
		return k == r.kind, s
	}
	// The reply is the file that is there, or an entry with nothing but its parent.
	if f.id != r.entry.ID || s.nodes[f.id].gen != r.entry.Gen {
		return false, s
	}
	return f.parent() == r.entry.Parent, s
}

func (s *seqTree) resolve(c seqCall, r seqReply) (bool, *seqTree) {
	if r.kind != ok {
		_, there := s.nodes[c.id]
		return r.kind == errs.NotFound && !there, s
	}
	if s.nodes[c.id].parent == seqBinned {
		return strings.HasPrefix(r.path, "recycle:"), s
	}
	f, k := s.existing(r.path)
	if k != ok {
		return false, s
	}
	return f.id == c.id, s
}

// change carries out a change in place; what it leaves after a refusal is thrown away.
func (s *seqTree) change(c seqCall, r seqReply) errs.Kind {
	switch c.verb {
	case "commit":
		return s.commit(c.commit)
	case "forget":
		for _, p := range c.pieces {
			delete(s.unlinked, seqPiece{c.disk, p})
		}
		return ok
	case "rename":
		return s.rename(c)
	case "restore", "purge":
		return s.unbin(c)
	case "mkdir":
		f, k := s.walk(c.path)
		switch {
		case k != ok:
			return k
		case f.id != 0:
			return errs.Exists
		}
		s.nodes[r.entry.ID] = seqNode{parent: f.parent(), name: f.name, dir: true}
		s.events++
		return ok
	}
	f, k := s.existing(c.path)
	if k != ok {
		return k
	}
	s.events++
	n := s.nodes[f.id]
	switch c.verb {
	case "remove":
		return s.remove(f, c.kind)
	case "chown":
		n.uid = c.uid
	case "setattr":
		n.attr = c.value
	case "setquota", "rmquota":
		switch {
		case !n.dir:
			return errs.NotDirectory
		case c.verb == "rmquota" && !n.limit:
			return errs.NotFound
		}
		n.limit = c.verb == "setquota"
	}
	s.nodes[f.id] = n
	return ok
}

func (s *seqTree) remove(f seqFound, kind hemera.EntryKind) errs.Kind {
	n := s.nodes[f.id]
	switch {
	case kind == hemera.KindFile && n.dir:
		return errs.IsDirectory
	case kind == hemera.KindDirectory && !n.dir:
		return errs.NotDirectory
	}
	return s.unlink(f.id)
}

// unbin brings a file back from its bin, or takes it away for good.
func (s *seqTree) unbin(c seqCall) errs.Kind {
	n, there := s.nodes[c.id]
	if !there || n.parent != seqBinned {
		return errs.NotFound
	}
	if c.verb == "purge" {
		s.events++
		return s.unlink(c.id)
	}
	target, k := s.walk(c.to)
	switch {
	case k != ok:
		return k
	case target.id != 0:
		return errs.Exists
	}
	s.events++
	n.parent, n.name = target.parent(), target.name
	s.nodes[c.id] = n
	return ok
}

func (s *seqTree) rename(c seqCall) errs.Kind {
	f, k := s.existing(c.path)
	if k != ok {
		return k
	}
	target, k := s.walk(c.to)
	switch {
	case k != ok:
		return k
	case slices.Contains(target.dirs, f.id):
		return errs.Invalid
	case target.id == f.id:
		return ok
	case target.id != 0 && s.nodes[target.id].dir:
		return errs.IsDirectory
	case target.id != 0 && s.nodes[f.id].dir:
		return errs.NotDirectory
	case target.id != 0:
		s.unlink(target.id)
	}
	s.events++
	n := s.nodes[f.id]
	n.parent, n.name = target.parent(), target.name
	s.nodes[f.id] = n
	return ok
}

func (s *seqTree) commit(c namespace.Commit) errs.Kind {
	now, there := s.nodes[c.ID]
	if there && now.gen == c.Gen {
		return ok
	}
	for _, p := range c.Pieces {
		if s.unlinked[seqPiece{p.Disk, hemera.PieceID{File: c.ID, Gen: c.Gen, Index: p.Index}}] {
			return errs.Conflict
		}
	}
	switch {
	case there && now.parent == seqBinned:
		return errs.Conflict
	case !there && c.Replaces != 0:
		return s.replace(c)
	case there && (c.Gen < now.gen || now.gen != c.BaseGen && !c.Force):
		return errs.Conflict
	case there:
		s.drop(c.ID)
	default:
		if c.BaseGen != 0 || s.removed[c.ID] || !s.nodes[c.Parent].dir {
			return errs.Conflict
		}
		if other, taken := s.child(c.Parent, c.Name); taken {
			if !c.Force || s.nodes[other].dir || other > c.ID {
				return errs.Conflict
			}
			s.unlink(other)
			s.events++
		}
		now = seqNode{parent: c.Parent, name: c.Name, uid: c.UID}
	}
	now.gen, now.size = c.Gen, c.Size
	for _, p := range c.Pieces {
		now.disks[p.Index] = p.Disk
	}
	s.nodes[c.ID] = now
	s.events++
	return ok
}

// replace commits a new file in the place of one that is kept.
func (s *seqTree) replace(c namespace.Commit) errs.Kind {
	if s.removed[c.ID] {
		return errs.Conflict
	}
	id := c.Replaces
	old, there := s.nodes[id]
	switch {
	case there && old.parent != seqBinned:
		if old.gen != c.BaseGen && (!c.Force || uint64(old.gen) > uint64(c.ID)) {
			return errs.Conflict
		}
	case !c.Force:
		return errs.Conflict
	default:
		if id, there = s.child(c.Parent, c.Name); !there || s.nodes[id].dir || id > c.ID {
			return errs.Conflict
		}
		old = s.nodes[id]
	}
	s.unlink(id)
	s.events++
	old.gen, old.size = c.Gen, c.Size
	for _, p := range c.Pieces {
		old.disks[p.Index] = p.Disk
	}
	s.nodes[c.ID] = old
	return ok
}

// seqChanges reports whether a call may leave something behind.
func seqChanges(verb string) bool {
	return slices.Contains([]string{"mkdir", "commit", "rename", "remove", "chown", "setattr", "forget", "setquota", "rmquota", "restore", "purge"}, verb)
}

func entryIDs(entries []hemera.Entry) map[string]hemera.FileID {
	out := map[string]hemera.FileID{}
	for _, e := range entries {
		out[e.Name] = e.ID
	}
	return out
}
