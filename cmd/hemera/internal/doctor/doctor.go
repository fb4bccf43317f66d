package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/measure/doctor"
	"hemera/measure/doctor/observe"
	"hemera/measure/doctor/settings"
	"hemera/process/config"
	"hemera/words/errs"
)

// examination is one run of the command.
type examination struct {
	e      *cli.Env          // streams and the cluster's URL
	o      observe.Options   // from the flags
	size   string            // of the temporary files, as given
	from   string            // a snapshot to judge in place of this machine
	save   string            // file for the snapshot
	report doctor.Report     // the diagnosis of the snapshot
	all    bool              // examine all nodes
	fix    bool              // change settings
	undo   bool              // restore the settings
	file   string            // the undo file
	agree  cli.Consent       // of the user, to changes
	made   []settings.Change // by this command

	mu   sync.Mutex // guards line
	line string     // the present progress line
}

// Command makes `hemera doctor`.
func Command(e *cli.Env) *cobra.Command {
	x := &examination{e: e, o: observe.Options{Root: "/"}}
	c := &cobra.Command{
		Use: "doctor [NODE|PATH]", Short: "Find what slows or endangers this machine, level by level", Args: cobra.MaximumNArgs(1), ValidArgsFunction: complete.Nodes(e),
		Long: `Measures this machine from its disks to its network, names the narrowest level, and lists what is wrong:
what was found, with figures, what to do about it, and what to expect of that. It takes less than two
minutes and needs no cluster.

Each local file system gets one temporary file of --size, which has no name and ends with the command.
No setting is changed. As root it sees more: the devices below the file systems, and the health of disks.
With --url, or HEMERA_URL, the path to that cluster is examined too: losses, clock, version.
NODE, an id or address, examines the way to that node, and has its machine examine itself; --all does so
with all nodes, and PATH with those that hold a file or the files of a directory. That is for admins.

A finding is a problem where figures of this machine show what it costs, a risk where nothing is lost yet, and
a hint where only published measurements show a cost. docs/doctor.md has a section for each id.

--fix changes those settings of the kernel that can be put back, after asking. What was there before is in a
file below the state directory, and --undo puts it back. A restart of the machine does so as well.`,
		Example: `  sudo hemera doctor
  hemera doctor --dir /data01 --dir /data02     only these disks
  hemera doctor --url root://manager:1094       with the path to a cluster
  hemera doctor --all                           all machines of the cluster, and the ways to them
  hemera doctor /exp/run7                       those that hold this directory
  hemera doctor -j | jq '.result[] | select(.kind == "finding")'
  hemera doctor --save node7.json               keep what was seen, for somebody who understands it
  hemera doctor --from node7.json               judge it there
  sudo hemera doctor --fix --dry-run            which settings would change
  sudo hemera doctor --fix                      change them, measure again, and show the difference
  sudo hemera doctor --undo                     put them back`,
		RunE: func(c *cobra.Command, args []string) error { return x.run(c, args) },
	}
	// The measurements, then the files of snapshots.
	f := c.Flags()
	f.StringArrayVar(&x.o.Dirs, "dir", nil, "measure the file system of this `directory`; may be repeated (default: all on local disks)")
	f.StringVar(&x.size, "size", "256MiB", "`size` of the temporary file, at most 512MiB")
	f.DurationVar(&x.o.For, "for", observe.ForDefault, "time of each measurement, at most 10s")
	f.StringVar(&x.save, "save", "", "write what was seen to a `file`, as JSON")
	f.StringVar(&x.from, "from", "", "judge the snapshot in a `file`, and measure nothing")
	f.BoolVar(&x.all, "all", false, "examine all machines of the cluster and the ways to them, in place of this machine")
	f.BoolVar(&x.fix, "fix", false, "change the settings that findings name and that can be put back, after asking")
	f.BoolVar(&x.undo, "undo", false, "put back what --fix changed, and measure nothing")
	f.StringVar(&x.file, "undo-file", undoFile(e), "the `file` with the settings from before --fix")
	x.agree.Flags(c)
	c.MarkFlagsMutuallyExclusive("from", "dir", "all")
	c.MarkFlagsMutuallyExclusive("from", "fix", "undo", "all")
	c.MarkFlagsMutuallyExclusive("save", "all")
	_ = c.MarkFlagDirname("dir") // fails for flags that are not there
	return c
}

// run takes or reads a snapshot, shows the diagnosis, and changes the settings that the user wants changed.
func (x *examination) run(c *cobra.Command, args []string) error {
	if err := x.check(); err != nil {
		return err
	}
	// Machines of the cluster in place of this one.
	if x.all || len(args) > 0 {
		return x.nodes(c, args)
	}
	if x.undo {
		return x.putBack()
	}
	s, err := x.snapshot(c)
	if err != nil {
		return err
	}
	// Saved before the diagnosis, so that a mistake in a rule loses no data.
	if x.save != "" {
		if err := write(x.save, s); err != nil {
			return err
		}
	}
	// By the rules of this version, also for a snapshot of an older one.
	x.report = doctor.Diagnose(s)
	// People see the findings before the question; programs get one list, which ends with the changes.
	if !x.e.ForPrograms() {
		if err := x.show(s); err != nil {
			return err
		}
	}
	if x.fix {
		err = x.change(c)
	}
	if x.e.ForPrograms() {
		return errors.Join(x.show(s), err)
	}
	return err
}

// snapshot returns the snapshot of the file, or of this machine.
func (x *examination) snapshot(c *cobra.Command) (*doctor.Snapshot, error) {
	// Of another machine, or of another day.
	if x.from != "" {
		return read(x.from)
	}
	// Without a named cluster, a missing one must not be reported.
	if c.Flags().Changed("url") || x.e.Getenv(config.URLVariable) != "" {
		cluster, err := x.cluster()
		if err != nil {
			return nil, err
		}
		x.o.Cluster = cluster
	}
	// It takes some seconds for each disk, so a person gets a progress line.
	stop := x.e.Follow(x.drawn)
	defer stop() // the line is erased before the table is printed
	return observe.Take(c.Context(), x.o)
}

// check checks the bounds of the measurements.
func (x *examination) check() error {
	// A file that is too small measures only caches, and a large one is a burden.
	const largest = 512 << 20
	// Units as in all commands.
	size, ok := cli.ParseSize(x.size, largest)
	if !ok || size < 16<<20 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Doctor", "--size", "it takes 16MiB to 512MiB"))
	}
	// Ticks of the kernel are 10 ms: shorter times show noise.
	if x.o.For < 50*time.Millisecond || x.o.For > 10*time.Second {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Doctor", "--for", "it takes 50ms to 10s"))
	}
	x.o.Size, x.o.Version, x.o.Progress = size, x.e.Build.Version, x.tell
	return nil
}

// cluster returns the address of the cluster that the user named.
func (x *examination) cluster() (*observe.Cluster, error) {
	// A unix socket is no path of a network.
	u, err := x.e.DataURL()
	if err != nil {
		return nil, err
	}
	// Called late, so that the measurements do not wait for a slow manager.
	version := func(ctx context.Context) (string, error) {
		// Strangers to the cluster get no version, which is no fault of the machine.
		m, err := x.e.Manager()
		if err != nil {
			return "", err
		}
		defer m.Close()
		v, err := m.About.Version(ctx)
		return v.Version, err
	}
	return &observe.Cluster{Address: u.Addr(), Version: version, For: max(x.o.For, time.Second)}, nil
}

// tell implements result.Progress.
func (x *examination) tell(_ string, done, total int, doing string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.line = fmt.Sprintf("%s  %s", cli.Bar(cli.Percent(int64(done), int64(max(total, 1))), 16), doing)
}

// drawn returns the progress line, for the goroutine that draws it.
func (x *examination) drawn() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.line
}

// write writes a snapshot to a file.
func write(path string, s *doctor.Snapshot) error {
	// Indented, because people read it before they pass it on.
	data, err := json.MarshalIndent(s, "", " ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644) // #nosec G306 -- it is to be read
	}
	return errs.Wrap(err, "hemera.Doctor", path)
}

// read reads a snapshot. It fails with Invalid if the file is none, or of a later schema.
func read(path string) (*doctor.Snapshot, error) {
	// Nothing is kept open: a snapshot is read whole.
	f, err := os.Open(path) // #nosec G304 -- the user names it
	if err != nil {
		return nil, errs.Wrap(err, "hemera.Doctor", path)
	}
	defer func() { _ = f.Close() }()
	return doctor.Decode(f, path)
}
