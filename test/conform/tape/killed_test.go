package tape

import (
	"fmt"
	"os"
	"testing"
	"time"

	"hemera/test/fixture/rig"
)

// victims are the processes that a walk kills.
type victims string

const (
	all     victims = "all"
	server  victims = "tape server"
	manager victims = "manager"
	nodes   victims = "nodes"
)

// of returns the processes, in the order in which they are started again.
func (v victims) of(l *library) []*rig.Server {
	switch v {
	case server:
		return []*rig.Server{l.tape}
	case manager:
		return []*rig.Server{l.manager}
	case nodes:
		return l.nodes
	}
	return append(append([]*rig.Server{l.manager}, l.nodes...), l.tape)
}

// point is a moment of the way, and the victims of the walks that go through it: the first of them kills all.
type point struct {
	name    string
	reach   func(w *walk) // brings the walk there
	victims []victims
}

// archivePoints returns the points of the way to tape.
func archivePoints() []point {
	return []point{
		{"before the mount", beforeMount, []victims{all, server, manager}},
		{"in the middle of a block run", func(w *walk) {
			hangInArchive(w, fault{Op: "write", After: 25}) // of about 60 blocks and labels
		}, []victims{all, server, manager}},
		{"after the trailer before the flush", beforeFlush, []victims{all, server, manager}},
		{"after the flush before the commit", beforeCommit, []victims{all, server, manager}},
		{"after the commit before the evict", beforeEvict, []victims{all, server, manager}},
		{"after the drop, with the pieces on the disks", withPiecesLeft, []victims{all, nodes, manager}},
		{"after the drop", afterDrop, []victims{all, nodes, manager}},
	}
}

// recallPoints returns the points of the way back. The large file is the first one on tape.
func recallPoints() []point {
	return []point{
		{"before the load", func(w *walk) { w.askAt(fault{Op: "load"}) }, []victims{all, server, manager}},
		{"before the locate", func(w *walk) { w.askAt(fault{Op: "locate"}) }, []victims{all, server, manager}},
		{"in the middle of the write to disk", inWriteToDisk, []victims{all, server, manager}},
		{"after the checksum before the publish", beforePublish, []victims{all, server, manager, nodes}},
		{"after the publish before the read", afterPublish, []victims{all, server, manager, nodes}},
		{"while a client waits in open", whileClientWaits, []victims{all, server, manager}},
	}
}

// TestKilled kills processes at each point of the way to tape and back, and starts them again. After each kill, and at the end of the walk:
//
//   - A copy on tape that the namespace has is on the cartridge: the labels lead to the file's bytes where the namespace says.
//   - A file without disk copies has its copy on tape.
//   - Clients read whole files, or wait: a reader that waited before the kill, and one right after the start.
//   - Requests of before the kill are done without another request, and none has failed.
//   - The disks have no piece of a file that was evicted, and hemera ns check finds nothing.
//
// All processes are killed at each point; with HEMERA_TAPE_WALKS=all each of them by itself too.
func TestKilled(t *testing.T) {
	t.Parallel()
	needClients(t)
	l := newLibrary(t, 1)
	l.Must("tape", "policy", "set", "default", "archiveMinRequestAge=0", "retrieveMinRequestAge=0")
	l.Must("tape", "mounting", "set", "default", "minFilesToWarrantAMount=1", "lingerSeconds=0")
	l.directory("/crash")
	if err := os.Mkdir(l.Path("clients"), 0o700); err != nil {
		t.Fatal(err)
	}
	orphans, number := map[string]bool{}, 0
	var back *walk // recalls all have the same files
	do := func(way, dir string, p point, run func(w *walk, p point, v victims)) bool {
		some := p.victims
		if !allWalks() {
			some = some[:1]
		}
		for _, v := range some {
			passed := t.Run(fmt.Sprintf("%s: %s, %s killed", way, p.name, v), func(t *testing.T) {
				part := *l
				part.Cluster = l.For(t)
				part.Must("attr", "set", "sys.archive.dropdiskcopies=0", "/crash")
				number++
				w := newWalk(&part, fmt.Sprint(dir, number), orphans)
				if way == "recall" {
					if back == nil {
						back = w
					}
					back.library = &part
					w = back
				}
				run(w, p, v)
			})
			if !passed {
				return false // the cluster is in no state for others
			}
		}
		return true
	}
	for _, p := range archivePoints() {
		if !do("archive", "/crash/", p, toTape) {
			return
		}
	}
	for _, p := range recallPoints() {
		if !do("recall", "/crash/", p, fromTape) {
			return
		}
	}
	l.partsLeave()
}

// partsLeave checks that the parts that killed writes left on the disks go when their time is over, which is about an hour: the files are made that old.
func (l *library) partsLeave() {
	l.T.Helper()
	_, parts := l.pieces()
	for name := range parts {
		old := time.Now().Add(-24 * time.Hour)
		if err := os.Chtimes(name, old, old); err != nil {
			l.T.Fatal(err)
		}
	}
	rig.Kill(l.nodes...)
	for _, n := range l.nodes {
		n.Start()
	}
	l.Await("parts of killed writes leave the disks", func() bool {
		for name := range parts {
			if _, err := os.Stat(name); err == nil {
				return false
			}
		}
		return true
	})
	l.T.Logf("%d parts of killed writes left the disks in their time", len(parts))
}

// toTape has files go to tape through a kill at a point.
func toTape(w *walk, p point, v victims) {
	p.reach(w)
	w.kill(v.of(w.library))
	// Files that are on tape only come back at the end, all together: one that is opened by itself waits for as long as a real mount takes.
	if !w.allIn(copies{0, 1}) {
		w.read()
		w.Await("each file has its copy on tape", func() bool { return w.allIn(copies{1, 1}, copies{2, 1}) })
	}
	w.done()
	w.prepare()
	w.Await("online", w.online)
	w.read()
	w.done()
}

// fromTape has files come back through a kill at a point.
func fromTape(w *walk, p point, v victims) {
	w.onTape()
	p.reach(w)
	w.kill(v.of(w.library))
	// A recall that failed is tried again after a minute.
	w.Await("online, without another request", w.online)
	w.read()
	w.done()
}

func beforeMount(w *walk) {
	w.plan(gate()...)
	before := w.hung()
	w.upload()
	w.Await("the mount hangs", func() bool { return w.hung() > before })
}

// hangInArchive has all files queued before the first one is written, and the drive hang in an operation.
func hangInArchive(w *walk, f fault) {
	beforeMount(w)
	w.hang(f)
}

func beforeFlush(w *walk) { hangInArchive(w, fault{Op: "flush"}) }

func beforeCommit(w *walk) {
	beforeFlush(w)
	w.freeze(w.manager)
	if w.onCartridges() {
		w.T.Fatal("the files are on tape before the flush")
	}
	w.plan()
	w.Await("the files are on the cartridge", w.onCartridges)
}

func beforeEvict(w *walk) {
	beforeMount(w)
	w.plan()
	w.Await("all files are on disk and tape", func() bool { return w.allIn(copies{2, 1}) })
}

func withPiecesLeft(w *walk) {
	w.Must("attr", "set", "sys.archive.dropdiskcopies=1", "/crash")
	beforeFlush(w)
	w.freeze(w.nodes...)
	w.plan()
	w.Await("all files are on tape only", func() bool { return w.allIn(copies{0, 1}) })
	if n := len(w.published()); n < 2*len(w.names) {
		w.T.Fatalf("nodes that are frozen removed pieces: %d are left of %d files", n, len(w.names))
	}
}

func afterDrop(w *walk) {
	w.Must("attr", "set", "sys.archive.dropdiskcopies=1", "/crash")
	beforeMount(w)
	w.plan()
	w.Await("all files are on tape only", func() bool { return w.allIn(copies{0, 1}) })
	w.Await("no piece is on a disk", func() bool { return len(w.published()) == 0 })
}

func inWriteToDisk(w *walk) {
	_, earlier := w.pieces() // parts that earlier walks left
	w.askAt(fault{Op: "read", Object: w.begin() + headerObjects + 30})
	w.Await("a part of the file is on both disks", func() bool {
		_, parts := w.pieces()
		large := 0
		for name, size := range parts {
			if _, there := earlier[name]; !there && size > 4_000_000 {
				large++
			}
		}
		return large == 2
	})
	w.reader("large")
}

func beforePublish(w *walk) {
	w.askAt(fault{Op: "read", Object: w.begin() + headerObjects + largeBlocks + 1}) // its trailer
	w.reader("large")
	w.freeze(w.manager)
	w.plan()
	// A piece is sealed when its writer has closed it, which it does when the checksum is right.
	sealed := func() (list []string) {
		for name, size := range w.published() {
			if size > largeSize {
				list = append(list, name)
			}
		}
		return list
	}
	w.Await("the file is sealed on both disks", func() bool { return len(sealed()) == 2 })
	// If nothing publishes them any more, an audit removes them when no write can be under way: after an hour, for which no walk waits.
	for _, name := range sealed() {
		w.orphans[name] = true
	}
}

func afterPublish(w *walk) {
	w.plan()
	w.prepare()
	w.Await("online", w.online)
}

func whileClientWaits(w *walk) {
	w.askAt(fault{Op: "read", Object: w.begin()})
	pid := w.reader("large")
	w.Await("the reader is connected", func() bool { return connected(pid) })
	// It waits when the manager has answered it, and nothing shows that from outside. A walk whose reader came later proves a little less.
	time.Sleep(500 * time.Millisecond)
}
