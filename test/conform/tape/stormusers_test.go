package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"hemera/test/fixture/rig"
)

const (
	// userThreads bounds the clients that a user runs at the same time.
	userThreads = 2
	// copyFiles bounds the files of one xrdcp, requestFiles those of one request of xrdfs.
	copyFiles    = 20
	requestFiles = 1000
	// retryAfter is the pause after a call that failed, recallPoll between two looks at a recall.
	retryAfter = 500 * time.Millisecond
	recallPoll = 2 * time.Second
	// reportEach is the time between two reports of a stage.
	reportEach = 30 * time.Second
)

// stormUser is a user with stock clients and its files: every tenth one to write, a random tenth of all to recall.
type stormUser struct {
	*storm
	number int
	name   string
	dir    string // for local files
	who    *syscall.Credential
}

// work is one stage of all users. Its counts are read when it has ended.
type work struct {
	verb  string
	until time.Time
	took  time.Duration

	mu                          sync.Mutex // guards what follows
	done, bytes, again, crashes int
	last                        error // of the calls that failed
}

// did counts files that are done.
func (w *work) did(files, bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += files
	w.bytes += bytes
}

// failed counts a call that failed and is repeated, which helps unless servers are killed without an end.
func (w *work) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again++
	w.last = err
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() { // XRootD's clients crash now and then when servers die
		w.crashes++
	}
}

// files returns how many are done.
func (w *work) files() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

// sofar returns the progress, for the log.
func (w *work) sofar() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d files; %d calls again, the last one after: %v", w.done, w.again, w.last)
}

// report logs what was done, and how fast.
func (w *work) report(s *storm) {
	s.T.Logf("%s of %d files, %d MB, in %s: %.1f files/s; %d calls again, %d clients crashed", w.verb, w.done, w.bytes/1e6, w.took.Round(time.Second),
		float64(w.done)/w.took.Seconds(), w.again, w.crashes)
}

// work has all users do the same at once, and returns when they have. The kills of the stage are spread over what they do.
func (s *storm) work(verb string, do func(stormUser, *work), stage string, kills []*rig.Server) *work {
	s.T.Helper()
	begun := time.Now()
	w := &work{verb: verb, until: begun.Add(s.Patience)}
	s.chaos.begin(stage, func() float64 { return float64(w.files()) / float64(s.files) }, kills)
	var users sync.WaitGroup
	for _, u := range s.users {
		users.Go(func() { do(u, w) })
	}
	all := make(chan struct{})
	go func() { users.Wait(); close(all) }()
	for ended := false; !ended; {
		select {
		case <-all:
			ended = true
		case <-time.After(reportEach):
			s.T.Logf("%s, after %s: %s", verb, since(begun), w.sofar())
		}
	}
	w.took = time.Since(begun)
	if w.done < s.files {
		s.T.Errorf("%s: %d of %d files", verb, w.done, s.files)
	}
	return w
}

// path returns the path of a file of the storm.
func (s *storm) path(file int) string {
	return fmt.Sprintf("/storm/u%d/d%d/f%d", file%len(s.users), file/len(s.users)/directoryFiles, file)
}

// mine returns the files that a user writes.
func (u stormUser) mine() (files []int) {
	for i := u.number; i < u.files; i += len(u.users) {
		files = append(files, i)
	}
	return files
}

// directories returns the directories of the user's files.
func (u stormUser) directories() (dirs []string) {
	for _, i := range u.mine() {
		if dir := path.Dir(u.path(i)); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// client runs a stock client as the user.
func (u stormUser) client(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), connectionWindow, "XRD_REQUESTTIMEOUT=60", "HOME=/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.who}
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, problem.String()[max(0, problem.Len()-400):])
	}
	return out.String(), err
}

// until repeats a call until it succeeds, and reports whether it does in time: servers are killed.
func (u stormUser) until(w *work, what string, call func() error) bool {
	for {
		err := call()
		if err == nil {
			return true
		}
		w.failed(err)
		if time.Now().After(w.until) {
			u.T.Errorf("user %s: in vain: %s: %v", u.name, what, err)
			return false
		}
		time.Sleep(retryAfter)
	}
}

// each calls do with chunks of files, some at the same time. Each call has a directory of its own.
func (u stormUser) each(files []int, chunk int, do func(files []int, dir string)) {
	chunks := make(chan []int)
	var threads sync.WaitGroup
	for n := range userThreads {
		threads.Go(func() {
			dir := filepath.Join(u.dir, strconv.Itoa(n))
			for c := range chunks {
				if err := u.emptied(dir); err != nil {
					u.T.Error(err)
				}
				do(c, dir)
			}
		})
	}
	for c := range slices.Chunk(files, chunk) {
		chunks <- c
	}
	close(chunks)
	threads.Wait()
}

// emptied makes a directory of the user, without anything in it.
func (u stormUser) emptied(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o755) // #nosec G301 -- the user's clients read it
	}
	if err == nil && u.who != nil {
		err = os.Chown(dir, int(u.who.Uid), int(u.who.Gid))
	}
	return err
}

// requestChunk returns the number of files in one request, so that all of the user's threads have some.
func (u stormUser) requestChunk() int {
	return max(1, min(requestFiles, u.files/len(u.users)/userThreads))
}

// write makes the user's files, archived where they go.
func (u stormUser) write(w *work) {
	for _, dir := range u.directories() {
		u.until(w, "mkdir "+dir, func() error {
			_, err := u.client("xrdfs", u.Host(), "mkdir", "-p", "-mrwxr-xr-x", dir) // all of them read all files
			if err != nil {
				_, err = u.client("xrdfs", u.Host(), "stat", dir) // an answer that was lost
			}
			return err
		})
	}
	byDirectory := map[string][]int{}
	for _, i := range u.mine() {
		dir := path.Dir(u.path(i))
		byDirectory[dir] = append(byDirectory[dir], i)
	}
	for to, files := range byDirectory {
		u.each(files, copyFiles, func(files []int, dir string) { u.put(w, files, dir, to) })
	}
}

// put writes some files into one directory.
func (u stormUser) put(w *work, files []int, local, to string) {
	command, sizes, total := []string{"-f", "--nopbar"}, map[string]int{}, 0
	for _, i := range files {
		name, content := path.Base(u.path(i)), u.contentOf(i)
		sizes[name] = len(content)
		total += len(content)
		file := filepath.Join(local, name)
		if err := os.WriteFile(file, content, 0o644); err != nil { // #nosec G306 -- the user's clients read it
			u.T.Error(err)
			return
		}
		command = append(command, file)
	}
	command = append(command, u.URL+"/"+to+"/")
	if u.until(w, fmt.Sprintf("write of %s and others", u.path(files[0])), func() error { return u.written(command, to, sizes) }) {
		w.did(len(files), total)
	}
}

// written copies files, and looks whether they are there: XRootD's client says that a close went well if it finds the connection lost as it sends the close.
func (u stormUser) written(command []string, dir string, sizes map[string]int) error {
	if _, err := u.client("xrdcp", command...); err != nil {
		return err
	}
	out, err := u.client("xrdfs", u.Host(), "ls", "-l", dir)
	if err != nil {
		return err
	}
	there := map[string]int{}
	for line := range strings.Lines(out) {
		const size, name = 3, 6
		if f := strings.Fields(line); len(f) > name {
			there[path.Base(f[name])], _ = strconv.Atoi(f[size])
		}
	}
	for name, size := range sizes {
		if got, ok := there[name]; !ok || got != size {
			return fmt.Errorf("%s/%s has %d bytes of %d", dir, name, got, size)
		}
	}
	return nil
}

// evict releases the user's files, so that those that are on tape leave the disks.
func (u stormUser) evict(w *work) {
	u.each(u.mine(), u.requestChunk(), func(files []int, _ string) {
		if u.release(w, files) {
			w.did(len(files), 0)
		}
	})
}

func (u stormUser) release(w *work, files []int) bool {
	command := []string{u.Host(), "prepare", "-e"}
	for _, i := range files {
		command = append(command, u.path(i))
	}
	return u.until(w, fmt.Sprintf("release of %s and others", u.path(files[0])), func() error {
		_, err := u.client("xrdfs", command...)
		return err
	})
}

// recall asks for the user's share of all files, waits for them, reads and compares each, and releases it.
func (u stormUser) recall(w *work) {
	var key [32]byte
	copy(key[:], fmt.Sprintf("%d/order", u.seed))
	order := rand.New(rand.NewChaCha8(key)).Perm(u.files)
	var mine []int
	for n := u.number; n < len(order); n += len(u.users) {
		mine = append(mine, order[n])
	}
	u.each(mine, u.requestChunk(), func(files []int, dir string) { u.fetch(w, files, dir) })
}

// fetch recalls some files. It reads what is on disk while it waits for the others.
func (u stormUser) fetch(w *work, files []int, local string) {
	left := map[string]int{}
	command := []string{u.Host(), "prepare", "-s"}
	for _, i := range files {
		left[u.path(i)] = i
		command = append(command, u.path(i))
	}
	var request string
	ok := u.until(w, fmt.Sprintf("prepare of %s and others", u.path(files[0])), func() error {
		out, err := u.client("xrdfs", command...)
		words := strings.Fields(out)
		if err == nil && len(words) == 0 {
			err = errors.New("no request")
		}
		if err == nil {
			request = words[len(words)-1]
		}
		return err
	})
	for ok && len(left) > 0 {
		var online []int
		ok = u.until(w, fmt.Sprintf("query of %d files", len(left)), func() (err error) {
			online, err = u.online(request, left)
			return err
		})
		if len(online) == 0 && time.Now().After(w.until) {
			u.T.Errorf("user %s: %d files are not on disk: %v", u.name, len(left), left)
			return
		}
		for some := range slices.Chunk(online, copyFiles) {
			u.compare(w, some, local)
			for _, i := range some {
				delete(left, u.path(i))
			}
		}
		if len(online) == 0 {
			time.Sleep(recallPoll)
		}
	}
	u.release(w, files)
}

// online returns those of the files that can be read from disk.
func (u stormUser) online(request string, left map[string]int) (files []int, err error) {
	command := []string{u.Host(), "query", "prepare", request}
	for name := range left {
		command = append(command, name)
	}
	out, err := u.client("xrdfs", command...)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Responses []struct {
			Path   string
			Online bool
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return nil, err
	}
	for _, r := range answer.Responses {
		if i, ok := left[r.Path]; ok && r.Online {
			files = append(files, i)
		}
	}
	return files, nil
}

// compare reads some files and compares them with what was written.
func (u stormUser) compare(w *work, files []int, local string) {
	command := []string{"-f", "--nopbar"}
	for _, i := range files {
		command = append(command, u.URL+"/"+u.path(i))
	}
	command = append(command, local)
	ok := u.until(w, fmt.Sprintf("read of %s and others", u.path(files[0])), func() error {
		_, err := u.client("xrdcp", command...)
		return err
	})
	if !ok {
		return
	}
	for _, i := range files {
		name, want := filepath.Join(local, path.Base(u.path(i))), u.contentOf(i)
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			u.T.Errorf("%s came back with other bytes: %d of %d, %v", u.path(i), len(got), len(want), err)
		}
		w.did(1, len(got))
		_ = os.Remove(name)
	}
}
