package storm

import (
	"path/filepath"
	"time"

	"hemera/client/admin"
	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/hemera"
)

// commitTime bounds the time from the seal of a piece to its record: heads repeat a commit for 45 s.
const commitTime = time.Minute

// abandoned returns the contents that were sealed and never committed: the kill of a head between the two leaves their pieces on the disks.
// They belong to no file, so no repair is owed to them, and an audit removes them when they are old enough (maint.OrphanAge, an hour).
// No write may be under way. A content without a piece that can be read is not among them.
func (c *cluster) abandoned() map[string]bool {
	c.T.Helper()
	recorded := c.recorded()
	all := map[string]bool{}
	for _, name := range c.sealed() {
		p, err := disk.OpenPieceFile(vfs.OS{}, name)
		if err != nil {
			continue
		}
		stat := p.Stat()
		_ = p.Close() // it was only read
		id := contentOf(name)
		before, known := all[id]
		all[id] = (before || !known) && !committed(recorded[stat.ID.File], stat)
	}
	for id, alone := range all {
		if !alone {
			delete(all, id)
			continue
		}
		c.T.Logf("content %s was sealed, and its head ended before the commit", id)
	}
	return all
}

// recorded returns the events of each file that put pieces into the namespace: its commits, and the moves and repairs of its pieces.
func (c *cluster) recorded() map[hemera.FileID][]hemera.Event {
	c.T.Helper()
	m, err := admin.Dial(admin.SocketURL(filepath.Join(c.Dir, "manager", "admin.sock")))
	if err != nil {
		c.T.Fatal(err)
	}
	defer m.Close()
	all := map[hemera.FileID][]hemera.Event{}
	for after := uint64(0); ; {
		events, err := m.Observe.Events(c.T.Context(), after, 10_000)
		if err != nil {
			c.T.Fatal(err)
		}
		for _, e := range events {
			after = e.Seq
			if e.Kind == hemera.EventCommit || e.Kind == hemera.EventPieces {
				all[e.File] = append(all[e.File], e)
			}
		}
		if len(events) == 0 {
			break
		}
	}
	if len(all) == 0 {
		c.T.Error("the manager has no event of a commit: nothing is known of what is left")
	}
	return all
}

// committed reports whether the piece became part of its file. A file that was written several times keeps its id, and events have no
// generation: its size and the time of the seal say which write it was.
func committed(events []hemera.Event, stat hemera.PieceStat) bool {
	for _, e := range events {
		late := e.Time.Sub(stat.Sealed)
		if late > -time.Second && late < commitTime && (e.Kind == hemera.EventPieces || e.Bytes == stat.FileSize) {
			return true
		}
	}
	return false
}

// without returns the pieces that are not of the contents.
func without(names []string, contents map[string]bool) (list []string) {
	for _, name := range names {
		if !contents[contentOf(name)] {
			list = append(list, name)
		}
	}
	return list
}
