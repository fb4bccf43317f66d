package storm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// layouts are the directories that files are written to, and how they are stored.
var layouts = map[string]string{
	"plain": "plain", "replica": "replica:2", "rs21": "rs:2+1", "rs42": "rs:4+2", "rs63": "rs:6+3", "stripe": "stripe:3", "lrc": "lrc:4+2+1",
}

// sizes of files, in bytes: less than a page to some rows of the widest layout.
var sizes = []int{1, 4096, 100_000, 1 << 20, 3<<20 + 17, 9 << 20}

const (
	workers = 5
	// filesEach is the number of names that each worker writes to.
	filesEach = 12
	// clientTime is the time after which a client is killed, which leaves the end of its write open.
	clientTime = 60 * time.Second
)

// content is the checksum of what a path holds; the zero value is nothing at all.
type content [sha256.Size]byte

// path has the contents that one file may hold. One worker changes it.
type path struct {
	name    string
	may     []content
	doubted []content // writes without an answer: they may still come where there is no file
	last    string    // what was done last
}

// allowed reports whether the file may hold this now.
func (p *path) allowed(found content) bool {
	return slices.Contains(p.may, found) || slices.Contains(p.may, content{}) && slices.Contains(p.doubted, found)
}

// did notes a change and its result.
func (p *path) did(what string, err error, now content) {
	p.last = fmt.Sprintf("%s at %s: %v", what, time.Now().Format(time.TimeOnly), err)
	if err == nil {
		p.may = []content{now}
		return
	}
	p.may = append(p.may, now)
	p.doubted = append(p.doubted, now)
}

// counts count the actions of the workers.
type counts struct {
	written, acked, bytes, read, unread, removed int64
}

// add adds what another did.
func (n *counts) add(o counts) {
	n.written, n.acked, n.bytes = n.written+o.written, n.acked+o.acked, n.bytes+o.bytes
	n.read, n.unread, n.removed = n.read+o.read, n.unread+o.unread, n.removed+o.removed
}

// worker changes and reads files of its own.
type worker struct {
	c     *cluster
	rng   *rand.Rand
	dir   string // for local files
	paths []*path
	count counts
}

// newWorker has no files yet.
func newWorker(c *cluster, i int, seed uint64) *worker {
	w := &worker{c: c, rng: rand.New(rand.NewPCG(seed, uint64(i))), dir: filepath.Join(c.Dir, fmt.Sprint("client", i))}
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		c.T.Fatal(err)
	}
	var dirs []string
	for dir := range layouts {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for f := range filesEach {
		w.paths = append(w.paths, &path{name: fmt.Sprintf("/%s/w%d-%d", dirs[(i+f)%len(dirs)], i, f), may: []content{{}}})
	}
	return w
}

// run works until the storm is over.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := w.paths[w.rng.IntN(len(w.paths))]
		switch w.rng.IntN(8) {
		case 0, 1, 2, 3:
			w.write(p)
		case 4:
			w.remove(p)
		default:
			// That nothing can be read now is no failure. What is read has to be right.
			if found, err := w.read(p); err == nil {
				w.check(p, found)
				w.count.read++
			} else {
				w.count.unread++
			}
		}
	}
}

// check compares what a file holds with what it may hold.
func (w *worker) check(p *path, found content) {
	if !p.allowed(found) {
		w.c.T.Errorf("%s holds %x, which is none of the %d contents it may have (last: %s)", p.name, found[:4], len(p.may), p.last)
	}
}

// client runs a command on the clients' host.
func (w *worker) client(name string, args ...string) error {
	cmd := w.c.lan.Command(client, name, args...)
	// Stock clients wait for minutes by default.
	cmd.Env = append(os.Environ(), "XRD_CONNECTIONWINDOW=5", "XRD_CONNECTIONRETRY=4", "XRD_REQUESTTIMEOUT=30", "XRD_STREAMTIMEOUT=20", "XRD_STREAMERRORWINDOW=60")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(clientTime, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, said.String()[max(0, said.Len()-400):])
	}
	return nil
}

// copy copies a file in either direction, with the stock client or this project's, which also moves coded files straight from
// and to the nodes of their pieces.
func (w *worker) copy(from, to string) error {
	switch w.rng.IntN(6) {
	case 0:
		return w.client(w.c.Program, "cp", "-f", from, to)
	case 1, 2:
		return w.client(w.c.Program, "cp", "-f", "--direct", "always", from, to)
	}
	return w.client("xrdcp", "-f", "-s", "-N", from, to)
}

// write gives the file a new content.
func (w *worker) write(p *path) {
	size := sizes[w.rng.IntN(len(sizes))]
	var key [32]byte
	for i := range key {
		key[i] = byte(w.rng.Uint32())
	}
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(data)
	local := filepath.Join(w.dir, "up")
	if err := os.WriteFile(local, data, 0o600); err != nil {
		w.c.T.Error(err)
		return
	}
	err := w.copy(local, w.c.URL+"/"+p.name)
	w.count.written++
	if err == nil {
		w.count.acked++
		w.count.bytes += int64(size)
	}
	p.did(fmt.Sprintf("write of %d bytes", size), err, sha256.Sum256(data))
}

// remove removes the file. One that is not there is an error that changes nothing.
func (w *worker) remove(p *path) {
	if slices.Equal(p.may, []content{{}}) {
		return
	}
	err := w.client("xrdfs", w.c.URL, "rm", p.name)
	if err == nil {
		w.count.removed++
	}
	p.did("remove", err, content{})
}

// missing are the words of clients about a file that is not there: kXR_NotFound, and this project's words.
var missing = [][]byte{[]byte("[3011]"), []byte("no such file"), []byte("not found"), []byte("No such file")}

// read returns what the file holds.
func (w *worker) read(p *path) (found content, err error) {
	local := filepath.Join(w.dir, "down")
	_ = os.Remove(local)
	if err := w.copy(w.c.URL+"/"+p.name, local); err != nil {
		for _, words := range missing {
			if bytes.Contains([]byte(err.Error()), words) {
				return content{}, nil
			}
		}
		return found, err
	}
	data, err := os.ReadFile(local)
	return sha256.Sum256(data), err
}

// settle reads every file at last: all must be readable.
func (w *worker) settle() {
	for _, p := range w.paths {
		var found content
		var err error
		for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
			if found, err = w.read(p); err == nil || time.Now().After(deadline) || w.c.T.Failed() {
				break
			}
		}
		if err != nil {
			why, _ := w.c.Admin("why", p.name)
			w.c.T.Errorf("%s cannot be read at the end: %v (last: %s)\n%s", p.name, err, p.last, why)
			continue
		}
		w.check(p, found)
	}
}

// hasClients skips the test where the stock clients are not installed.
func hasClients(skip func(args ...any)) {
	for _, name := range []string{"xrdcp", "xrdfs", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			skip(name + " is not installed")
		}
	}
}
