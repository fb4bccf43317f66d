package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hemera/platform/link"
)

// target is a server under test: one process.
type target struct {
	name  string    // in messages; what begins with "hemera" has profiles
	addr  string    // host:port of its XRootD door
	cores cores     // of its clients
	pid   int       // whose CPU clock is read
	cmd   *exec.Cmd // nil if the process is not ours to end
	log   string    // path of its output

	other *target    // a node of its cluster that is not measured; nil if there is none
	held  *link.Held // its ports, until it is stopped
}

// url returns a path at the target.
func (t *target) url(path string) string { return "root://" + t.addr + "/" + path }

// cpu returns the CPU time of the target's process so far.
func (t *target) cpu() (time.Duration, error) { return cpuTime(t.pid) }

// settle waits until the server has done what it does after its answers, at most for a while: a file that was removed is
// given back to the filesystem by one server before it answers and by the other afterwards, and neither belongs to
// the next measurement.
func (t *target) settle() error {
	// Twice quiet within 50 ms each: less than one millisecond of CPU.
	const look, idle, most = 50 * time.Millisecond, time.Millisecond, 5 * time.Second
	before, err := t.cpu()
	until := time.Now().Add(most)
	for quiet := 0; err == nil && quiet < 2 && time.Now().Before(until); quiet++ {
		time.Sleep(look)
		var now time.Duration
		if now, err = t.cpu(); now-before > idle {
			quiet = -1
		}
		before = now
	}
	return err
}

// stop ends the process and waits for it, after that of the other node.
// SIGTERM, so that the server can close its files.
func (t *target) stop() {
	if t.other != nil {
		t.other.stop()
	}
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	_ = t.cmd.Wait()
	_ = t.held.Close()
}

// start runs a server on the cores, as the user if not 0, and waits until it answers.
// The caller calls stop. An error includes the end of the server's log.
func start(t *target, on cores, uid uint32, argv ...string) error {
	out, err := os.Create(t.log)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	argv = on.command(argv...)
	t.cmd = exec.Command(argv[0], argv[1:]...)
	t.cmd.Stdout, t.cmd.Stderr = out, out
	t.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if uid != 0 {
		t.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	if err := t.cmd.Start(); err != nil {
		return err
	}
	t.pid = t.cmd.Process.Pid
	// A log-in is the proof that it serves, not an open port.
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if c, err := dial(t.addr); err == nil {
			c.close()
			return nil
		}
	}
	// It may still run, and must not stay behind.
	t.stop()
	text, _ := os.ReadFile(t.log)
	return fmt.Errorf("%s does not answer at %s; its log:\n%s", t.name, t.addr, tail(text))
}

// tail returns the end of a log.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// nobody is the user the C++ server runs as: it refuses to be root.
const nobody = 65534

// startXrootd runs the C++ server on an exported directory below dir.
// The lines are the least that a server needs; everything else is its default.
func startXrootd(dir string, on, clients cores) (*target, error) {
	data := filepath.Join(dir, "xrootd")
	for _, d := range []string{data, data + "/root", data + "/admin"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
		// As root the directories go to the user that it changes to.
		if os.Getuid() == 0 {
			if err := os.Chown(d, nobody, nobody); err != nil {
				return nil, err
			}
		}
	}
	held, err := link.Hold(1)
	if err != nil {
		return nil, err
	}
	port := held.First
	config := filepath.Join(data, "xrootd.cfg")
	text := fmt.Sprintf("all.export /\noss.localroot %s/root\nall.adminpath %s/admin\nall.pidpath %s/admin\nxrd.port %d\n", data, data, data, port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	t := &target{name: "xrootd", addr: "127.0.0.1:" + strconv.Itoa(port), cores: clients, log: filepath.Join(dir, "xrootd.log"), held: held}
	uid := uint32(0)
	if os.Getuid() == 0 {
		uid = nobody
	}
	return t, start(t, on, uid, "xrootd", "-c", config, "-n", "bench")
}

// hemeraShape describes the cluster under test. Settings are those of `space set`.
type hemeraShape struct {
	binary       string
	nodes, disks int
	away         int      // disks of one more node, which is a process of its own and not measured; 0 for none
	space        []string // settings of the default space
}

// startHemera runs `hemera up` below dir.
// Manager, nodes and disks are in one process, so one CPU clock has all of it.
func startHemera(ctx context.Context, dir string, shape hemeraShape, on, clients cores) (*target, error) {
	held, err := link.Hold(shape.nodes + 1)
	if err != nil {
		return nil, err
	}
	port := held.First
	t := &target{name: "hemera", addr: "127.0.0.1:" + strconv.Itoa(port), cores: clients, log: filepath.Join(dir, "hemera.log"), held: held}
	err = start(t, on, 0, shape.binary, "up", filepath.Join(dir, "hemera"), "--port", strconv.Itoa(port),
		"--nodes", strconv.Itoa(shape.nodes), "--disks", strconv.Itoa(shape.disks))
	if err != nil {
		return nil, err
	}
	if shape.away > 0 {
		if err := t.join(ctx, dir, shape, on); err != nil {
			t.stop()
			return nil, fmt.Errorf("another node: %w", err)
		}
	}
	// Before the first file is made: settings apply to new files.
	for _, setting := range shape.space {
		cmd := exec.CommandContext(ctx, shape.binary, "--url", "root://"+t.addr, "space", "set", "default", setting)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.stop()
			return nil, fmt.Errorf("space set %s: %w: %s", setting, err, out)
		}
	}
	return t, nil
}

// join starts one more node of the target's cluster, and waits until the manager sees all its disks.
// After an error the caller stops the target, and with it the node if it runs.
func (t *target) join(ctx context.Context, dir string, shape hemeraShape, on cores) error {
	ask := func(args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, shape.binary, append([]string{"--url", "root://" + t.addr}, args...)...).Output()
	}
	held, err := link.Hold(1)
	if err != nil {
		return err
	}
	port := held.First
	// Nodes join with a token, also on the manager's own machine.
	token, err := ask("token", "create")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, token, 0o600); err != nil {
		return err
	}
	argv := []string{shape.binary, "node", "--data", filepath.Join(dir, "away"), "--port", strconv.Itoa(port), "--join-file", file}
	for i := range shape.away {
		disk := filepath.Join(dir, "away-disks", strconv.Itoa(i))
		if err := os.MkdirAll(disk, 0o755); err != nil {
			return err
		}
		argv = append(argv, "--disk", disk)
	}
	// Its own door answers before it has joined; the disks tell when it has.
	other := &target{name: "another node", addr: "127.0.0.1:" + strconv.Itoa(port), log: filepath.Join(dir, "away.log"), held: held}
	if err := start(other, on, 0, argv...); err != nil {
		return err
	}
	t.other = other
	// A file that is made before would lack pieces, and be repaired during the measurement.
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		disks, err := ask("fs", "ls", "-m")
		if err != nil {
			return err
		}
		if strings.Count(string(disks), "stat.active=online") == shape.disks*shape.nodes+shape.away {
			return nil
		}
	}
	return fmt.Errorf("its disks are not online after 20 s, see %s", other.log)
}
