package tape

import (
	"context"
	"errors"
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
	"hemera/tape/device/emulated"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// cluster is `hemera up` with a disk in each directory, and an emulated library in real time.
type cluster struct {
	state   string   // its directory, removed by end
	disks   []string // those within the directories of the user, removed by end
	holes   string   // a directory on the first disk, removed by end, see occupy
	held    *link.Held
	server  string // host and port of the manager
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	why     error         // how it ended; valid after ended is closed
	admin   *admin.Client
	client  *xrootd.Client
}

const (
	// startMax bounds the start of a cluster.
	startMax = time.Minute
	// stopMax bounds the time of a stop before the cluster is killed.
	stopMax = 30 * time.Second
	// pause is the interval of polls of conditions that take seconds.
	pause = 250 * time.Millisecond
	// library is the name of hemera up's library.
	library = "tape"
)

// start runs a cluster with the drives of o. It writes its output to log.
func start(ctx context.Context, o *Options, containers bool, log io.Writer) (c *cluster, err error) {
	c = &cluster{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.end())
		}
	}()
	if err := c.prepare(o); err != nil {
		return c, err
	}
	// The manager's, and one for each node behind it.
	if c.held, err = link.Hold(1 + len(o.Directories)); err != nil {
		return c, err
	}
	port := c.held.First
	c.server = net.JoinHostPort("localhost", strconv.Itoa(port))
	n := strconv.Itoa(len(o.Directories))
	// Without other work than tape: no scrub reads the disks, and removed pieces disappear at once.
	c.process = exec.CommandContext(context.WithoutCancel(ctx), o.Program, "up", c.state, "--port", strconv.Itoa(port), "--nodes", n, "--disks", n, // #nosec G204 -- this program
		"--layout", "plain", "--scrub-rate", "0", "--removal-hold", "1s", "--tape", "--tape-speed", "1",
		"--tape-containers="+strconv.FormatBool(containers), "--log-level", "warn")
	c.process.Stdout, c.process.Stderr = log, log
	// Settings of the user's own clusters do not apply. A Ctrl-C at the terminal is for the run, which ends the cluster.
	c.process.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEMERA_") })
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// It does not end with ctx but with end, which gives it time to stop.
	if err := c.process.Start(); err != nil {
		c.process = nil
		return c, errs.Wrap(err, "tape.Start", o.Program)
	}
	go func() {
		defer close(c.ended)
		c.why = c.process.Wait()
	}()
	return c, c.supply(ctx, o)
}

// prepare makes the directories and the library.
func (c *cluster) prepare(o *Options) (err error) {
	if c.state, err = os.MkdirTemp(o.State, "hemera-bench-tape-"); err != nil {
		return errs.Wrap(err, "tape.Start", o.State)
	}
	// hemera up uses disk1, disk2 and so on in its directory; links lead to the disks.
	for i, dir := range o.Directories {
		disk, err := os.MkdirTemp(dir, "hemera-bench-tape-")
		if err != nil {
			return errs.Wrap(err, "tape.Start", dir)
		}
		c.disks = append(c.disks, disk)
		if disk, err = filepath.Abs(disk); err != nil {
			return errs.Wrap(err, "tape.Start", dir)
		}
		if err := os.Symlink(disk, filepath.Join(c.state, fmt.Sprintf("disk%d", i+1))); err != nil {
			return errs.Wrap(err, "tape.Start", dir)
		}
	}
	if c.holes, err = os.MkdirTemp(o.Directories[0], "hemera-bench-tape-"); err != nil {
		return errs.Wrap(err, "tape.Start", o.Directories[0])
	}
	// A tape for each drive, and some more slots, so that every move has a place.
	drives := o.most()
	return emulated.Create(filepath.Join(c.state, library), emulated.Spec{Drives: drives, Slots: drives + 4, Cartridges: drives, Media: "LTO-9"})
}

// supply waits until the cluster answers, and gives each drive a pool with a tape, a class, and a directory.
func (c *cluster) supply(ctx context.Context, o *Options) (err error) {
	if c.admin, err = admin.Dial(admin.SocketURL(filepath.Join(c.state, "admin.sock"))); err != nil {
		return err
	}
	c.client = xrootd.New(xrootd.Options{App: "hemera-bench"})
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	// A fresh cluster puts the tapes of its library to use by itself. When all are there nothing changes any more.
	var tapes []tapeapi.Tape
	err = c.until(ctx, func() (bool, error) {
		tapes, err = c.admin.Tape.Tapes(ctx)
		return len(tapes) == o.most(), nil //nolint:nilerr // it does not answer yet
	})
	if err != nil {
		return err
	}
	// Errors are joined: the first one is the most useful.
	change := func(object, verb, name string, values ...string) {
		v := map[string]string{}
		for pair := range slices.Chunk(values, 2) {
			v[pair[0]] = pair[1]
		}
		err = errors.Join(err, c.admin.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: object, Verb: verb, Name: name, Values: v}))
	}
	// Queues belong to pools for archives, and to tapes for recalls, so a separate pool gives a separate drive.
	who := hemera.SystemIdentity()
	for i, t := range tapes {
		name := nameOf(i)
		change("pool", "add", name, "vo", "default")
		change("class", "add", name, "nbCopies", "1", "vo", "default")
		change("route", "add", name+"/1", "storageClass", name, "copyNumber", "1", "tapepool", name)
		change("tape", "set", string(t.VID), "tapepool", name)
		_, failed := c.admin.Names.Mkdir(ctx, who, "/"+name, 0o777, true)
		err = errors.Join(err, failed, c.admin.Attributes.SetXattr(ctx, who, "/"+name, hemera.AttrStorageClass, []byte(name), false))
	}
	// An object is needed to disable it.
	change("library", "add", library, "comment", "")
	return err
}

// nameOf returns the pool, the class and the directory of a drive.
func nameOf(drive int) string { return fmt.Sprintf("bench%d", drive+1) }

// until waits until a condition holds, or the cluster has ended.
func (c *cluster) until(ctx context.Context, so func() (bool, error)) error {
	// The admin API only answers with the present state, so it is polled.
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		done, err := so()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-c.ended:
			return errs.New(errs.Unavailable, "tape.Cluster", c.server, fmt.Sprintf("the cluster ended: %v", c.why)).WithRemedy("see raw/tape-cluster.log of the run")
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "tape.Cluster", c.server)
		}
	}
}

// enable makes drives take work, or not. A mounted tape stays mounted for a minute.
func (c *cluster) enable(ctx context.Context, on bool) error {
	// A reason is required.
	values := map[string]string{"isDisabled": strconv.FormatBool(!on)}
	if !on {
		values["disabledReason"] = "files are written"
	}
	return c.admin.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: "library", Verb: "set", Name: library, Values: values})
}

// end stops the cluster and removes its files.
func (c *cluster) end() error {
	if c.admin != nil {
		c.admin.Close()
	}
	if c.client != nil {
		_ = c.client.Close() // no request is in progress
	}
	// Its files are removed only after it has ended.
	if c.process != nil {
		_ = c.process.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-c.ended:
		case <-time.After(stopMax):
			_ = c.process.Process.Kill()
			<-c.ended
		}
	}
	var err error
	if c.held != nil {
		err = c.held.Close()
	}
	// All of it, also when a part cannot be removed.
	if c.state != "" {
		err = errors.Join(err, os.RemoveAll(c.state))
	}
	if c.holes != "" {
		err = errors.Join(err, os.RemoveAll(c.holes))
	}
	for _, disk := range c.disks {
		err = errors.Join(err, os.RemoveAll(disk))
	}
	return errs.Wrap(err, "tape.End", c.state)
}
