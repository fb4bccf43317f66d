package tape

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hemera/test/fixture/rig"
	"hemera/test/tapelabels"
)

// The files of a walk are written in this order: one of many blocks, one of two, and small ones, which share a tape file.
const (
	largeSize   = 12_000_000
	largeBlocks = 46
	middleSize  = 300_000
	smallFiles  = 9
	// headerObjects counts the labels and the filemark before the blocks of a tape file.
	headerObjects = 4
)

// gate stops a drive before anything is read or written, until another plan replaces it.
func gate() []fault {
	return []fault{{Op: "load", Fail: "hang"}, {Op: "locate", Fail: "hang"}}
}

// walk is files on their way to tape, or back, through one kill.
type walk struct {
	*library
	dir      string
	names    []string
	contents map[string][]byte
	request  string // to have them on disk
	frozen   []*rig.Server
	readers  []reader
	// orphans are pieces of all walks so far that were never published.
	orphans map[string]bool
}

// reader is a client that waits for a file.
type reader struct {
	name, to string
	cmd      *exec.Cmd
	said     *bytes.Buffer
	ended    chan error
}

// newWalk has no files yet.
func newWalk(l *library, dir string, orphans map[string]bool) *walk {
	return &walk{library: l, dir: dir, contents: map[string][]byte{}, orphans: orphans}
}

// url returns the URL of a file.
func (w *walk) url(name string) string { return w.URL + "/" + w.path(name) }

func (w *walk) path(name string) string { return w.dir + "/" + name }

func (w *walk) paths() (list []string) {
	for _, name := range w.names {
		list = append(list, w.path(name))
	}
	return list
}

// upload writes the files, one behind the other.
func (w *walk) upload() {
	w.T.Helper()
	sizes := map[string]int{"large": largeSize, "middle": middleSize}
	w.names = []string{"large", "middle"}
	for n := range smallFiles {
		name := fmt.Sprint("small", n)
		w.names = append(w.names, name)
		sizes[name] = 10_000*n + 1
	}
	w.directory(w.dir)
	command := []string{"-f", "--nopbar"}
	for _, name := range w.names {
		content := make([]byte, sizes[name])
		_, _ = rand.Read(content)
		w.contents[name] = content
		local := w.Path("clients", name)
		if err := os.WriteFile(local, content, 0o600); err != nil {
			w.T.Fatal(err)
		}
		command = append(command, local)
	}
	mustStock(w.T, "xrdcp", append(command, w.URL+"/"+w.dir+"/")...)
}

// reader begins to read a file with a client that waits for it, and returns the number of its process.
func (w *walk) reader(name string) int {
	w.T.Helper()
	r := reader{name: name, to: w.Path("clients", name+".read"), said: &bytes.Buffer{}, ended: make(chan error, 1)}
	_ = os.Remove(r.to)
	r.cmd = exec.Command("xrdcp", "-f", "--nopbar", w.url(name), r.to)
	r.cmd.Env = append(os.Environ(), connectionWindow)
	r.cmd.Stdout, r.cmd.Stderr = r.said, r.said
	if err := r.cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	w.T.Cleanup(func() { _ = r.cmd.Process.Kill() }) // if it still waits
	w.readers = append(w.readers, r)
	return r.cmd.Process.Pid
}

// connected reports whether a process has a connection, by the kernel's lists.
func connected(pid int) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	descriptors, _ := filepath.Glob(filepath.Join(proc, "fd", "*"))
	sockets := map[string]bool{}
	for _, d := range descriptors {
		to, _ := os.Readlink(d)
		sockets[to] = true
	}
	for _, kind := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(filepath.Join(proc, "net", kind))
		for line := range strings.Lines(string(text)) {
			const state, inode, established = 3, 9, "01"
			if f := strings.Fields(line); len(f) > inode && f[state] == established && sockets["socket:["+f[inode]+"]"] {
				return true
			}
		}
	}
	return false
}

// read checks that what readers wait for, and then each file, comes back as it was written.
func (w *walk) read() {
	w.T.Helper()
	for _, r := range w.readers {
		var err error
		ended := false
		w.Await("the reader of "+r.name+" ends", func() bool {
			select {
			case err = <-r.ended:
				ended = true
			default:
			}
			return ended
		})
		if err != nil {
			w.T.Fatalf("the reader of %s: %v: %s", r.name, err, r.said)
		}
		w.compare(r.name, r.to)
	}
	w.readers = nil
	back := w.Path("clients", "back")
	if err := os.RemoveAll(back); err != nil {
		w.T.Fatal(err)
	}
	if err := os.Mkdir(back, 0o700); err != nil {
		w.T.Fatal(err)
	}
	command := []string{"-f", "--nopbar"}
	for _, name := range w.names {
		command = append(command, w.url(name))
	}
	mustStock(w.T, "xrdcp", append(command, back)...)
	for _, name := range w.names {
		w.compare(name, filepath.Join(back, name))
	}
}

// compare checks what a client has read.
func (w *walk) compare(name, local string) {
	w.T.Helper()
	got, err := os.ReadFile(local)
	if err != nil || !bytes.Equal(got, w.contents[name]) {
		w.T.Fatalf("%s was read with another content, of %d bytes, %v", name, len(got), err)
	}
}

// prepare asks for all files to be on disk.
func (w *walk) prepare() {
	w.T.Helper()
	var err error
	if w.request, err = prepare(w.Host(), w.paths()...); err != nil {
		w.T.Fatal(err)
	}
}

// online reports whether all files of the request are on disk.
func (w *walk) online() bool { return online(w.Host(), w.request) }

// allIn reports whether each file has its copies in one of some ways.
func (w *walk) allIn(wanted ...copies) bool {
	now := states(w.Cluster, w.dir)
	if len(now) != len(w.names) {
		return false
	}
	for _, c := range now {
		if !slices.Contains(wanted, c) {
			return false
		}
	}
	return true
}

// published returns the sealed pieces on the disks, without orphans.
func (w *walk) published() map[string]int64 {
	whole, _ := w.pieces()
	maps.DeleteFunc(whole, func(name string, _ int64) bool { return w.orphans[name] })
	return whole
}

// info returns the archive id of a file, and the places of its copies on tape, from the namespace.
func (w *walk) info(name string) (archive uint64, places []infoRow) {
	w.T.Helper()
	list, err := rig.Rows[infoRow](w.Cluster, "file", "info", w.path(name))
	if err != nil || len(list) == 0 {
		w.T.Fatalf("the manager does not say where %s is: %v", name, err)
	}
	for _, row := range list {
		if row.FSeq != nil {
			places = append(places, row)
		}
	}
	archive, _ = strconv.ParseUint(list[0].Sys.Archive.FileID, 10, 64)
	return archive, places
}

// onCartridges reports whether each content is on a cartridge, wherever.
func (w *walk) onCartridges() bool {
	there := map[string]bool{}
	for _, tape := range w.cartridges() {
		for _, f := range tape.Files {
			there[string(f.Content)] = true
		}
	}
	for _, content := range w.contents {
		if !there[string(content)] {
			return false
		}
	}
	return true
}

// recordsHold checks that each copy that the namespace has is on its cartridge, and that each file has a copy somewhere.
func (w *walk) recordsHold() {
	w.T.Helper()
	// In this order, since files go to tape meanwhile: what the manager said first must still be so.
	now := states(w.Cluster, w.dir)
	tapes := map[string]int{}
	type copied struct {
		name    string
		archive uint64
		at      infoRow
	}
	var places []copied
	for _, name := range w.names {
		archive, list := w.info(name)
		tapes[name] = len(list)
		for _, at := range list {
			places = append(places, copied{name, archive, at})
		}
	}
	cartridges := w.cartridges()
	for _, p := range places {
		found, tape := false, cartridges[p.at.VID]
		for _, f := range tape.Files {
			if f.FSeq == *p.at.FSeq && f.Member == p.at.Member {
				found = f.ArchiveID == p.archive && f.BlockID == p.at.BlockID && bytes.Equal(f.Content, w.contents[p.name])
			}
		}
		if !found {
			w.T.Fatalf("%s is not on tape as the namespace says: archive id %d, fSeq %d: %+v; the cartridge has %+v; %v",
				p.name, p.archive, *p.at.FSeq, p.at, described(tape.Files), tape.Rest)
		}
	}
	if len(now) != len(w.names) {
		w.T.Fatalf("the manager lists only %v", now)
	}
	for name, c := range now {
		if c == (copies{}) || c.tape > tapes[name] {
			w.T.Fatalf("%s has %d copies on disk and %d on tape, and %d have a place there", name, c.disk, c.tape, tapes[name])
		}
	}
}

// described returns files of a tape without their contents, for messages.
func described(files []tapelabels.File) []tapelabels.File {
	list := slices.Clone(files)
	for i := range list {
		list[i].Content = nil
	}
	return list
}

// atRest reports whether the drive is empty and waits for work.
func (w *walk) atRest() bool {
	list := w.drives()
	return len(list) == 1 && list[0].DriveStatus == "UP" && list[0].VID == ""
}

// hung counts the operations that hang, or did.
func (w *walk) hung() int { return sum(w.hits()) }

// hang replaces what hangs, and waits until it does.
func (w *walk) hang(f fault) {
	w.T.Helper()
	before := w.hung()
	f.Fail = "hang"
	w.plan(f)
	w.Await(fmt.Sprintf("the drive hangs in %+v", f), func() bool { return w.hung() > before })
}

// onTape has the files on tape only, and nothing at work.
func (w *walk) onTape() {
	w.T.Helper()
	if len(w.names) > 0 {
		return
	}
	w.upload()
	w.Await("each file has its copy on tape", func() bool { return w.allIn(copies{2, 1}) })
	w.done()
}

// begin returns the object of the tape at which the large file begins.
func (w *walk) begin() int {
	w.T.Helper()
	_, places := w.info("large")
	if len(places) == 0 {
		w.T.Fatal("the large file is not on tape")
	}
	return max(1, places[0].BlockID)
}

// askAt asks for all files before the first one is read, and has the drive hang in an operation.
func (w *walk) askAt(f fault) {
	w.T.Helper()
	w.plan(gate()...)
	before := w.hung()
	w.prepare()
	w.Await("the mount hangs", func() bool { return w.hung() > before })
	if f.Op != "load" {
		w.hang(f)
	}
}

// freeze has processes stand still until the kill.
func (w *walk) freeze(list ...*rig.Server) {
	for _, s := range list {
		s.Freeze()
	}
	w.frozen = append(w.frozen, list...)
}

// kill kills, checks what the others say, and starts what was killed.
func (w *walk) kill(list []*rig.Server) {
	w.T.Helper()
	rig.Kill(list...)
	for _, s := range w.frozen {
		s.Thaw()
	}
	w.frozen = nil
	if !slices.Contains(list, w.manager) {
		w.recordsHold()
	}
	for _, s := range list {
		s.Start()
		if s == w.manager {
			w.Await("the manager answers", w.Answers)
		}
	}
	w.recordsHold()
	w.plan()
}

// done checks what must hold when the walk is over.
func (w *walk) done() {
	w.T.Helper()
	w.recordsHold()
	w.evict()
	w.Await("no request waits", func() bool {
		list, err := rig.Rows[requestRow](w.Cluster, "tape", "request", "ls")
		return err == nil && len(list) == 0
	})
	if failed := failedRequests(w.Cluster); failed != "" {
		w.T.Fatalf("requests failed: %s", failed)
	}
	w.Await("the drive is empty", w.atRest)
	if err := healthy(w.Cluster); err != nil {
		w.T.Fatal(err)
	}
}

// evict frees the disks.
func (w *walk) evict() {
	w.T.Helper()
	w.Await("the disk copies are dropped", func() bool {
		_, err := w.Admin(append([]string{"tape", "evict"}, w.paths()...)...)
		return err == nil
	})
	w.Await("all files are on tape only", func() bool { return w.allIn(copies{0, 1}) })
	w.Await("no piece is on a disk", func() bool { return len(w.published()) == 0 })
}
