package tape

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hemera/test/fixture/rig"
)

// directoryFiles bounds the files in a directory of a user.
const directoryFiles = 1000

// storm is the stages on one cluster.
type storm struct {
	*library
	files int
	seed  uint64
	users []stormUser
	chaos *chaos
}

// TestStorm: ten users' files go to tape and back while drives fail and processes are killed, in three stages: write, with the archive behind it; evict;
// recall. As root each user is another one of the machine.
//
//   - Faults are planned for what drives do at the moment. What they hit is in faults.log of the library, and counted from there.
//   - Processes are killed one by one and started again at once, as the work proceeds.
//   - Drives that are down are put up, tapes that were put aside are used again, requests that failed are tried again, as an operator would do.
//
// At the end every file has come back byte for byte and has its copy on tape, nothing waits, the check of the namespace is clean, and enough was hit.
//
// HEMERA_TAPE_FILES says how many files, HEMERA_TAPE_SEED repeats what they hold and the choices of a run.
func TestStorm(t *testing.T) {
	files, seed := number(t, "HEMERA_TAPE_FILES", 0), number(t, "HEMERA_TAPE_SEED", time.Now().UnixNano())
	if files == 0 {
		t.Skip("it takes minutes: scripts/test.sh tapestorm")
	}
	needClients(t)
	t.Logf("HEMERA_TAPE_SEED=%d, %d files", seed, files)
	s := &storm{library: newLibrary(t, 4), files: int(files), seed: uint64(seed)}
	s.Patience = 10*time.Minute + time.Duration(files)*time.Second/20
	s.directory("/storm")
	s.addUsers()
	s.chaos = newChaos(s)
	s.stages()
}

// number returns the number in a variable of the environment.
func number(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		t.Fatalf("%s: %q", name, text)
	}
	return n
}

// addUsers makes ten users, each with a directory of its own for local files.
func (s *storm) addUsers() {
	// Every Debian has them.
	for n, name := range []string{"daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp"} {
		u := stormUser{storm: s, number: n, name: name, dir: s.Path("users", name)}
		if err := os.MkdirAll(u.dir, 0o755); err != nil {
			s.T.Fatal(err)
		}
		if os.Geteuid() == 0 {
			who, err := user.Lookup(name)
			if err != nil {
				s.T.Skip(err)
			}
			uid, _ := strconv.Atoi(who.Uid)
			gid, _ := strconv.Atoi(who.Gid)
			if err := os.Chown(u.dir, uid, gid); err != nil {
				s.T.Fatal(err)
			}
			u.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
		s.users = append(s.users, u)
	}
}

// stages does all of it.
func (s *storm) stages() {
	t := s.T
	// Few files give time for few kills.
	rounds := 1
	switch {
	case s.files >= 50_000:
		rounds = 4
	case s.files >= 5000:
		rounds = 2
	}
	begun := time.Now()
	w := s.work("write", stormUser.write, "archive", repeat(rounds, s.tape, s.nodes[0], s.manager, s.tape))
	w.report(s)
	written, last := s.archived(), time.Now()
	s.chaos.begin("archive", func() float64 {
		return float64(s.archived()-written) / float64(max(1, s.files-written))
	}, repeat(rounds, s.tape, s.manager, s.nodes[1]))
	s.awaitNone("every file has its copy on tape", func() int { return max(0, s.files-s.archived()) })
	s.awaitNone("every file has its copy in its entry", func() int { return s.without(onTape) })
	t.Logf("archived %d files in %s from the first write on, %s after the last", s.files, since(begun), since(last))

	w = s.work("evict", stormUser.evict, "", nil)
	w.report(s)
	s.awaitNone("every file is on tape only", func() int {
		left := s.without(onTapeOnly)
		if left > 0 { // of a release whose report of the tape copy came later
			s.work("evict", stormUser.evict, "", nil)
		}
		return left
	})

	archiveHits := s.hits()
	w = s.work("recall", stormUser.recall, "recall", repeat(rounds, s.tape, s.nodes[0], s.tape, s.manager, s.nodes[1]))
	w.report(s)
	s.chaos.rest()
	s.awaitNone("no request waits or has failed", func() int {
		waiting, err := rig.Rows[requestRow](s.Cluster, "tape", "request", "ls")
		failed, err2 := rig.Rows[requestRow](s.Cluster, "tape", "request", "ls", "--failed")
		if err != nil || err2 != nil {
			return -1
		}
		return len(waiting) + len(failed)
	})
	s.chaos.stop()
	s.check(archiveHits)
}

// repeat repeats a list of victims.
func repeat(rounds int, list ...*rig.Server) (all []*rig.Server) {
	for range rounds {
		all = append(all, list...)
	}
	return all
}

func since(begun time.Time) time.Duration { return time.Since(begun).Round(time.Second) }

// awaitNone waits until nothing is missing. missing returns -1 if the manager does not say.
func (s *storm) awaitNone(what string, missing func() int) {
	s.T.Helper()
	left := 0
	defer func() {
		if s.T.Failed() {
			s.T.Logf("%s: missing: %d", what, left)
		}
	}()
	s.Await(what, func() bool {
		left = missing()
		if left != 0 {
			time.Sleep(time.Second) // to ask costs a thousandth of the files
		}
		return left == 0
	})
}

// archived counts the files on all tapes.
func (s *storm) archived() (n int) {
	for _, tape := range rows[tapeRow](s.Cluster, "tape", "tape", "ls") {
		n += tape.NbMasterFiles
	}
	return n
}

// Lines of `ls -y`.
var (
	onTape     = regexp.MustCompile(`(?m)^d\d+::t1 `)
	onTapeOnly = regexp.MustCompile(`(?m)^d0::t1 `)
)

// without counts the files that `ls -y` does not show with a pattern.
func (s *storm) without(pattern *regexp.Regexp) int {
	found := 0
	for _, u := range s.users {
		for _, dir := range u.directories() {
			out, _ := s.Admin("ls", "-y", dir)
			found += len(pattern.FindAllString(out, -1))
		}
	}
	return s.files - found
}

// check checks what must hold at the end, and whether enough was hit.
func (s *storm) check(archiveHits map[string]int) {
	t := s.T
	if missing := s.without(onTape); missing != 0 {
		t.Errorf("%d files do not have their copy on tape", missing)
	}
	if err := healthy(s.Cluster); err != nil {
		t.Error(err)
	}
	recallHits := s.hits()
	for what, n := range archiveHits {
		recallHits[what] -= n
	}
	// A plan takes some seconds, in which a thousand files go to tape.
	wanted := max(1, min(5, s.files/1000))
	for _, stage := range []struct {
		name string
		hits map[string]int
	}{{"archive", archiveHits}, {"recall", recallHits}} {
		t.Logf("faults that hit, %s: %v", stage.name, stage.hits)
		if n := sum(stage.hits); n < wanted {
			t.Errorf("only %d faults hit during %s, not %d", n, stage.name, wanted)
		}
	}
	done := s.chaos.done()
	t.Logf("%v", done)
	for _, stage := range []string{"archive", "recall"} {
		busy := false
		for what := range done {
			busy = busy || strings.HasPrefix(what, fmt.Sprintf("kill of tape (%s,", stage)) && !strings.Contains(what, "idle")
		}
		if !busy {
			t.Errorf("no tape server was killed while a drive did its %s", stage)
		}
	}
}

// contentOf returns the bytes of a file, which follow from the seed, so that nothing is kept to compare with. Most files are small, as at sites: one of 70 has
// up to 4 MB, one of 2000 up to 100 MB.
func (s *storm) contentOf(file int) []byte {
	var key [32]byte
	copy(key[:], fmt.Sprintf("%d/%d", s.seed, file))
	source := rand.NewChaCha8(key)
	rng := rand.New(source)
	low, high := 1e3, 65e3
	switch at := rng.Float64(); {
	case at < 0.0005:
		low, high = 3e7, 1e8
	case at < 0.0148:
		low, high = 65e3, 4e6
	}
	content := make([]byte, int(low*pow(high/low, rng.Float64())))
	_, _ = source.Read(content)
	return content
}
