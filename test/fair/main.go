// Fair measures what is left of one user's rate while another asks for as much as it gets.
//
//	go run ./test/fair -program bin/hemera [-rounds 5] [-time 2s] [-only listings]
//
// It needs root: it starts `hemera up` with an emulated tape library, and the users are processes of their own. In each round the first user
// works alone and then beside the other; a row is the median of the ratios of all rounds. The other user's processes are nice, so that the
// processor time that they take themselves counts less. The last columns say who took the processors: the cluster while the first user
// was alone, the cluster beside the other, and the other's own processes, in processors.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/platform/link"
	"hemera/words/hemera"
)

// The users are accounts that every machine has: daemon and bin. Nothing of theirs is touched.
const (
	workerUID = 1
	greedyUID = 2
	// names is the number of files in the long directory.
	names = 20_000
)

func main() {
	program := flag.String("program", "bin/hemera", "the program whose cluster is measured")
	rounds := flag.Int("rounds", 5, "rounds of each row")
	length := flag.Duration("time", 2*time.Second, "how long a user works in a round")
	only := flag.String("only", "", "one row")
	user := flag.String("user", "", "internal: what this process does as a user")
	at := flag.String("at", "", "internal: the manager")
	flag.Parse()
	var err error
	if *user != "" {
		err = work(*user, *at, *length)
	} else {
		err = measure(*program, *rounds, *length, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fair:", err)
		os.Exit(1)
	}
}

// measure starts a cluster and prints the table.
func measure(program string, rounds int, length time.Duration, only string) (err error) {
	dir, err := os.MkdirTemp("", "hemera-fair-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	self := filepath.Join(dir, "fair")
	if err := publish(self); err != nil {
		return err
	}
	held, err := link.Hold(3)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	port := held.First
	server := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cluster := exec.CommandContext(context.Background(), program, "up", filepath.Join(dir, "up"), "--port", strconv.Itoa(port), "--nodes", "2", "--disks", "4", "--tape", "--log-level", "error") // #nosec G204 -- the caller's program
	cluster.Stderr = os.Stderr
	if err := cluster.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cluster.Process.Signal(syscall.SIGTERM)
		_ = cluster.Wait()
	}()
	if err := furnish(filepath.Join(dir, "up", "admin.sock")); err != nil {
		return err
	}
	u := users{self, server, length, cluster.Process.Pid}
	if _, _, err := u.run("prepare", greedyUID); err != nil {
		return err
	}
	fmt.Println("| one user's | left of the other's rate | lowest, highest | served | refused | cluster alone | cluster beside | the user's own |\n|---|---|---|---|---|---|---|---|")
	for _, g := range greeds() {
		if only != "" && only != g.name {
			continue
		}
		if err := u.row(g.name, rounds); err != nil {
			return err
		}
	}
	return nil
}

// publish copies this program to where other users may run it.
func publish(to string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(own) // #nosec G304 -- this program
	if err != nil {
		return err
	}
	if err := os.Chmod(filepath.Dir(to), 0o755); err != nil { // #nosec G302 -- users run what is in it
		return err
	}
	return os.WriteFile(to, text, 0o755) // #nosec G306 -- as above
}

// furnish waits until the cluster answers, and makes the directories of the users.
func furnish(socket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := admin.Dial(admin.SocketURL(socket))
	if err != nil {
		return err
	}
	defer m.Close()
	for {
		view, err := m.Cluster.View(ctx)
		if err == nil && len(view.Disks) == 4 && !slices.ContainsFunc(view.Disks, func(d hemera.Disk) bool { return !d.Writable() }) {
			break
		}
		if ctx.Err() != nil {
			return errors.Join(errors.New("the cluster does not start"), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	who := hemera.SystemIdentity()
	for path, uid := range map[string]int64{"/worker": workerUID, "/greedy": greedyUID} {
		if _, err := m.Names.Mkdir(ctx, who, path, 0o755, true); err != nil {
			return err
		}
		if err := m.Attributes.SetOwner(ctx, who, path, uid, uid); err != nil {
			return err
		}
	}
	return nil
}

// users runs processes of users.
type users struct {
	program, server string
	length          time.Duration
	cluster         int // its process
}

// spent returns the processor time of the cluster so far: of its process and of those that it started.
func (u users) spent() (time.Duration, error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", u.cluster, u.cluster))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, pid := range append(strings.Fields(string(list)), strconv.Itoa(u.cluster)) {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat")) // #nosec G304 -- of the cluster
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return 0, io.ErrUnexpectedEOF
		}
		for _, ticks := range fields[11:13] { // of the process and of the kernel for it, 100 a second
			n, err := strconv.ParseInt(ticks, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum, nil
}

// timed runs a process of a user, and adds up how many processors the cluster took meanwhile.
func (u users) timed(what string, uid uint32, cluster *float64) ([]int64, error) {
	before, err := u.spent()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	counts, _, err := u.run(what, uid)
	if err != nil {
		return nil, err
	}
	after, err := u.spent()
	*cluster += float64(after-before) / float64(time.Since(begin))
	return counts, err
}

// row measures the worker alone and beside the greedy user, in turn.
func (u users) row(greed string, rounds int) error {
	var ratios []float64
	var served, refused int64
	var quiet, busy, own float64 // processors, summed over the rounds
	for range rounds {
		alone, err := u.timed("worker", workerUID, &quiet)
		if err != nil {
			return err
		}
		other := u
		other.length += time.Second // it begins before and ends after
		var counts []int64
		var used time.Duration
		ended := make(chan error, 1)
		go func() {
			var err error
			counts, used, err = other.run(greed, greedyUID)
			ended <- err
		}()
		time.Sleep(600 * time.Millisecond)
		beside, err := u.timed("worker", workerUID, &busy)
		if err = errors.Join(err, <-ended); err != nil {
			return err
		}
		ratios = append(ratios, float64(beside[0])/float64(max(alone[0], 1)))
		served, refused = served+counts[0], refused+counts[1]
		own += float64(used) / float64(other.length)
	}
	slices.Sort(ratios)
	n := float64(rounds)
	fmt.Printf("| %s | %.2f | %.2f, %.2f | %d | %d | %.2f | %.2f | %.2f |\n", greed, ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1],
		served, refused, quiet/n, busy/n, own/n)
	return nil
}

// run runs a process of a user to its end, and returns what it was served, how often it was refused, and its processor time.
func (u users) run(what string, uid uint32) (counts []int64, used time.Duration, err error) {
	cmd := exec.CommandContext(context.Background(), u.program, "-user", what, "-at", u.server, "-time", u.length.String()) // #nosec G204 -- this program
	if uid == greedyUID {
		cmd.Args = append([]string{"nice", "-n", "19", u.program}, cmd.Args[1:]...)
		cmd.Path, _ = exec.LookPath("nice")
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", what, err, failed.String())
	}
	for _, word := range strings.Fields(out.String()) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, 0, err
		}
		counts = append(counts, n)
	}
	if len(counts) != 2 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	return counts, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// caller is an admin.Caller over the data protocol.
type caller struct {
	*xrootd.Client
	at xrootd.URL
}

// Call implements admin.Caller.
func (c caller) Call(ctx context.Context, request []byte, answer func([]byte) error) error {
	return c.Client.Call(ctx, c.at, request, answer)
}
