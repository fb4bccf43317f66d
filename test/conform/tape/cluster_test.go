package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/test/fixture/rig"
	"hemera/test/tapelabels"
)

var program = flag.String("hemera", "", "the hemera program to test")

const (
	// clientTime bounds one call of a stock client. A recall, a restart of the cluster and a busy machine are within it.
	clientTime = 3 * time.Minute
	// connectionWindow is the time after which a stock client connects again, by default 120 s.
	connectionWindow = "XRD_CONNECTIONWINDOW=5"
)

// needClients skips the test where the stock clients are not installed.
func needClients(t *testing.T) {
	t.Helper()
	for _, name := range []string{"xrdcp", "xrdfs"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is missing: scripts/setup.sh clients", name)
		}
	}
}

// allWalks reports whether walks that take longer are to be done too.
func allWalks() bool { return os.Getenv("HEMERA_TAPE_WALKS") == "all" }

// stock runs a stock client and returns what it printed. An error has what it said of that.
func stock(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), connectionWindow)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s …: %w: %s%s", name, args[0], err, out.String(), problem.String())
	}
	return out.String(), nil
}

// mustStock calls stock and fails the test if the call fails.
func mustStock(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := stock(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Rows of commands with -j, as far as tests read them.
type (
	driveRow struct {
		DriveName, DriveStatus, MountType, VID string
	}
	tapeRow struct {
		VID, State    string
		NbMasterFiles int
	}
	requestRow struct{ RequestType string }
	checkRow   struct{ Healthy bool }
	statusRow  struct{ Command string }
	// infoRow is a row of `file info`: the first one of the file itself, the others of its pieces and of its copies on tape.
	infoRow struct {
		FXID string
		Sys  struct {
			Archive struct {
				FileID string `json:"file_id"`
			}
		}
		VID     string
		FSeq    *uint64
		BlockID int
		Member  int
	}
)

// rows returns the rows of a command; a failure means no rows.
func rows[Row any](c *rig.Cluster, args ...string) []Row {
	list, _ := rig.Rows[Row](c, args...)
	return list
}

// healthy reports whether the check of the namespace has found nothing.
func healthy(c *rig.Cluster) error {
	list, err := rig.Rows[checkRow](c, "ns", "check")
	if err == nil && (len(list) == 0 || !list[0].Healthy) {
		err = fmt.Errorf("ns check: %+v", list)
	}
	return err
}

// failedRequests returns the requests for tape that have failed, as they are printed; empty if there are none.
func failedRequests(c *rig.Cluster) string {
	list, err := rig.Rows[json.RawMessage](c, "tape", "request", "ls", "--failed")
	if err != nil || len(list) > 0 {
		return fmt.Sprintf("%s %v", list, err)
	}
	return ""
}

// copies has the numbers of a file's copies on disk and on tape.
type copies struct{ disk, tape int }

var copiesLine = regexp.MustCompile(`(?m)^d(\d+)::t(\d+) .* (\S+)$`)

// states returns the copies of each file in a directory; nothing if the manager does not say.
func states(c *rig.Cluster, dir string) map[string]copies {
	out, _ := c.Admin("ls", "-y", dir)
	found := map[string]copies{}
	for _, m := range copiesLine.FindAllStringSubmatch(out, -1) {
		disk, _ := strconv.Atoi(m[1])
		tape, _ := strconv.Atoi(m[2])
		found[m[3]] = copies{disk, tape}
	}
	return found
}

// online reports whether all files of a request can be read from disk.
func online(host, request string, paths ...string) bool {
	out, err := stock("xrdfs", append([]string{host, "query", "prepare", request}, paths...)...)
	if err != nil {
		return false
	}
	var answer struct {
		Responses []struct{ Online bool }
	}
	if json.Unmarshal([]byte(out), &answer) != nil || len(answer.Responses) == 0 {
		return false
	}
	for _, r := range answer.Responses {
		if !r.Online {
			return false
		}
	}
	return true
}

// prepare asks for files to be on disk, and returns the request.
func prepare(host string, paths ...string) (string, error) {
	out, err := stock("xrdfs", append([]string{host, "prepare", "-s"}, paths...)...)
	words := strings.Fields(out)
	if err == nil && len(words) == 0 {
		err = fmt.Errorf("prepare of %s: no request", paths[0])
	}
	if err != nil {
		return "", err
	}
	return words[len(words)-1], nil
}

// archive makes a directory whose files go to tape.
func archive(c *rig.Cluster, dir, class string) {
	c.T.Helper()
	c.Must("mkdir", dir)
	c.Must("attr", "set", "sys.archive.storage_class="+class, dir)
}

// library is a manager, two nodes and a tape server with an emulated library, each a process of its own.
type library struct {
	*rig.Cluster
	manager, tape *rig.Server
	nodes         []*rig.Server
}

// fault describes what goes wrong with an operation of a drive; docs/tape/emulator.md has the words.
type fault struct {
	Op     string `json:"op"`
	Fail   string `json:"fail"`
	Object int    `json:"object,omitempty"`
	After  int    `json:"after,omitempty"`
	Count  int    `json:"count,omitempty"`
}

// newLibrary starts all processes, and has all cartridges in one pool, so that all drives work.
func newLibrary(t *testing.T, drives int) *library {
	t.Helper()
	l := &library{Cluster: rig.New(t, *program, 4)}
	l.manager = l.Manager("--port", l.Port(0))
	join := l.JoinFile(3)
	for n := 1; n <= 2; n++ {
		name, disk := fmt.Sprint("node", n), l.Path(fmt.Sprint("disk", n))
		if err := os.Mkdir(disk, 0o700); err != nil {
			t.Fatal(err)
		}
		l.nodes = append(l.nodes, l.Add(0, name, "node", "--data", l.Path(name), "--port", l.Port(n), "--disk", disk, "--join-file", join))
	}
	l.tape = l.Add(0, "tape", "tape", "serve", "--data", l.Path("tape"), "--port", l.Port(3), "--join-file", join, "--tape-speed", "0",
		"--library", "tape", "--emulate", fmt.Sprintf("drives=%d,slots=60,cartridges=40,capacity=2000000000", drives))
	for _, s := range append(l.nodes, l.tape) {
		s.Start()
	}
	l.AwaitOnline(2)
	l.configure(drives)
	return l
}

// configure admits the tape server and gives all cartridges to one pool.
func (l *library) configure(drives int) {
	l.T.Helper()
	var asking string
	l.Await("the tape server asks to be admitted", func() bool {
		for _, row := range rows[statusRow](l.Cluster, "tape", "status") {
			if rest, ok := strings.CutPrefix(row.Command, "hemera tape server add "); ok {
				asking = rest
			}
		}
		return asking != ""
	})
	l.Must("tape", "server", "add", asking)
	l.Await("the library is reported", func() bool { return len(l.drives()) > 0 })
	for _, vid := range l.cartridgeNames() {
		l.Must("tape", "tape", "add", vid, "tapepool=default")
	}
	l.Must("tape", "policy", "set", "default", "archiveMinRequestAge=2", "retrieveMinRequestAge=0")
	l.Must("tape", "pool", "set", "default", fmt.Sprint("numPartialTapes=", drives))
	l.Must("tape", "mounting", "set", "default", "minFilesToWarrantAMount=100", "lingerSeconds=2")
}

// cartridgeNames returns the barcodes of all cartridges, without their media types.
func (l *library) cartridgeNames() (names []string) {
	text, err := os.ReadFile(l.Path("tape", "tape", "library.json"))
	var library struct{ Elements []struct{ Barcode string } }
	if err == nil {
		err = json.Unmarshal(text, &library)
	}
	if err != nil {
		l.T.Fatal(err)
	}
	for _, e := range library.Elements {
		if len(e.Barcode) >= 6 {
			names = append(names, e.Barcode[:6])
		}
	}
	return names
}

// directory makes a directory for everybody, whose files go to tape.
func (l *library) directory(dir string) {
	l.T.Helper()
	archive(l.Cluster, dir, "default")
	l.Must("chmod", "777", dir)
}

// drives returns all drives; none if the manager does not say.
func (l *library) drives() []driveRow { return rows[driveRow](l.Cluster, "tape", "drive", "ls") }

// hits counts the faults that have hit so far, by operation and failure.
func (l *library) hits() map[string]int {
	log, _ := os.ReadFile(l.Path("tape", "tape", "faults.log"))
	count := map[string]int{}
	for line := range bytes.Lines(log) {
		var hit fault
		if json.Unmarshal(line, &hit) == nil { // the last line may be only begun
			count[hit.Op+" "+hit.Fail]++
		}
	}
	return count
}

// sum adds all counts.
func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// plan replaces the plan of faults as a whole.
func (l *library) plan(faults ...fault) {
	l.T.Helper()
	if err := l.replacePlan(faults); err != nil {
		l.T.Fatal(err)
	}
}

// replacePlan does what plan does, for other goroutines than the test's.
func (l *library) replacePlan(faults []fault) error {
	text, err := json.Marshal(map[string][]fault{"faults": append([]fault{}, faults...)})
	name := l.Path("tape", "tape", "faults.json")
	if err == nil {
		err = os.WriteFile(name+".part", text, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(name+".part", name)
}

// cartridges reads all cartridges by their labels, by barcode without media type.
func (l *library) cartridges() map[string]tapelabels.Tape {
	l.T.Helper()
	names, _ := filepath.Glob(l.Path("tape", "tape", "cartridges", "*.index"))
	found := map[string]tapelabels.Tape{}
	for _, name := range names {
		objects, err := tapelabels.Cartridge(strings.TrimSuffix(name, ".index"))
		if err != nil {
			l.T.Fatal(err)
		}
		found[filepath.Base(name)[:6]] = tapelabels.Read(objects)
	}
	return found
}

// pieces returns all sealed pieces on the disks with their sizes, and those that are being written.
func (l *library) pieces() (whole, parts map[string]int64) {
	whole, parts = map[string]int64{}, map[string]int64{}
	names, _ := filepath.Glob(l.Path("disk[12]", "*", "*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue // it was removed, or sealed, just now
		}
		if filepath.Base(filepath.Dir(name)) == "pending" {
			parts[name] = info.Size()
		} else {
			whole[name] = info.Size()
		}
	}
	return whole, parts
}
