package serve

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/process/config"
	"hemera/process/daemon"
	"hemera/process/statedir"
	"hemera/words/errs"
)

// UpCommand makes `hemera up`, which runs a whole cluster in one process. Manager and nodes are the same as in separate
// processes, with the same state on disk.
func UpCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "up [DIR]", Short: "Run a whole cluster on this machine: a manager and nodes in one process", GroupID: "serve",
		Long: `Runs a manager and storage nodes in one process, with folders as disks, until Ctrl-C.
Everything is kept in DIR (default ./hemera-data) and is there again at the next start. The number
of nodes and disks and the grace stay too, unless the next start gives others.
The cluster listens on this machine only, unless --listen says otherwise.`,
		Example: `  hemera up
  hemera up /data/hemera --port 21094 --nodes 3
  hemera up --layout rs:4+2
  hemera up --tape`,
		Args: cobra.MaximumNArgs(1),
	}
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "connections", "http", "auth", "tpc", "space", "up", "tape.speed", "tape.containers", "repair", "removal", "writes", "scrub", "cache", "log")
	_ = c.RegisterFlagCompletionFunc("layout", complete.Layouts)
	data := c.Flags().Lookup("data")
	// This changes the text of --help only; chooseData applies the default.
	data.DefValue = upData
	data.Usage += "; the same as DIR"
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := chooseData(c, args); err != nil {
			return err
		}
		keepPrivate()
		// settings reads --data, so it comes after chooseData.
		l, v, err := settings(e, c, true)
		if err != nil {
			return err
		}
		addProcessors(l)
		// A person at a terminal reads the welcome, not the log of a start that goes well.
		if e.Live && l.Log.Level == slog.LevelInfo {
			v.level.Set(slog.LevelWarn) // until the welcome
		}
		// The welcome and errors name the directory, and their readers may not know the working directory.
		if l.Data, err = filepath.Abs(l.Data); err != nil {
			return err
		}
		shape, err := upShape(l, v.log)
		if err != nil {
			return err
		}
		options, err := managerOptions(e, l, "up", v)
		if err != nil {
			return err
		}
		library := upTape(l)
		up, err := daemon.OpenUp(c.Context(), daemon.UpOptions{Manager: options, Nodes: shape.Nodes, Disks: shape.Disks, Zone: l.Node.Zone, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate), Executable: executable(), Tape: library})
		if err != nil {
			return err
		}
		// The shape is saved only now, so that a start that failed does not decide the next one.
		if err := statedir.SaveUpShape(l.Data, shape); err != nil {
			return err
		}
		noteSocket(l, up.Manager)
		warnOfSpace(c.Context(), l, up.Manager, v.log)
		limitMemory(l)
		v.apply = func(now config.Config, changes []config.Changed) {
			up.Change(managerLive(now), int64(now.Scrub.Rate))
			// The next start uses the grace of this one, unless it is given another.
			if slices.ContainsFunc(changes, func(c config.Changed) bool { return c.Key == "repair.grace" }) {
				shape.Grace = now.Repair.Grace
				if err := statedir.SaveUpShape(l.Data, shape); err != nil {
					v.log.Warn("the grace is not recorded for the next start", "error", err)
				}
			}
		}
		return v.serve(c.Context(), func() error {
			return up.Run(c.Context(), func() { v.level.Set(v.running.Config().Log.Level); welcome(e, up, library != nil) })
		})
	}
	return c
}

// upShape decides the number of nodes and disks, and the repair grace: the values of this command line or its settings,
// else those of the last start, else the defaults. It fails if disks of the directory would be left out. It writes no
// file; the caller saves the result once the cluster has started.
func upShape(l *config.Loaded, log *slog.Logger) (statedir.UpShape, error) {
	said := map[string]bool{}
	for _, v := range l.Values() {
		said[v.Key] = v.Source != "default"
	}
	// ok is false at the first start in a directory.
	last, ok, err := statedir.LoadUpShape(l.Data)
	if err != nil {
		return last, err
	}
	if ok {
		// A value that this start does not give is taken from the last one.
		if !said["up.nodes"] {
			l.Up.Nodes = last.Nodes
		}
		if !said["up.disks"] {
			l.Up.Disks = last.Disks
		}
		if !said["repair.grace"] && last.Grace > 0 {
			l.Repair.Grace = last.Grace
		}
		switch {
		// Every node needs a disk. If only one of both numbers was given, the other follows it.
		case l.Up.Disks >= l.Up.Nodes:
		case said["up.nodes"]:
			l.Up.Disks = l.Up.Nodes
		default:
			l.Up.Nodes = l.Up.Disks
		}
	}
	// The order of the map does not matter: each key is noted by itself.
	for key, value := range map[string]string{
		"up.nodes": strconv.Itoa(l.Up.Nodes), "up.disks": strconv.Itoa(l.Up.Disks), "repair.grace": l.Repair.Grace.String(),
	} {
		if ok && !said[key] {
			// hemera config show prints the source of the value.
			l.Note(key, value, "as before")
		}
	}
	// A grace of 0 in the old shape means that it was saved without one.
	now := statedir.UpShape{Nodes: l.Up.Nodes, Disks: l.Up.Disks, Grace: l.Repair.Grace}
	if ok && now != last && last.Grace > 0 {
		log.Info("the cluster is started in another way than last time", "nodes", now.Nodes, "disks", now.Disks, "grace", now.Grace,
			"nodes_before", last.Nodes, "disks_before", last.Disks, "grace_before", last.Grace)
	}
	if err := statedir.CheckUpManager(l.Data); err != nil {
		return now, err
	}
	return now, statedir.CheckUpDisks(l.Data, now.Disks)
}

// upData is the default directory of `hemera up`.
const upData = "./hemera-data"

// chooseData decides the directory of `hemera up`: DIR or --data, else the environment or the file, else ./hemera-data,
// not the default of a manager. It sets the flag as if the user had given it, so that settings finds the directory there.
func chooseData(c *cobra.Command, args []string) error {
	switch {
	// With both, one would be ignored silently.
	case len(args) == 1 && c.Flags().Changed("data"):
		return cli.Usage(errs.New(errs.Invalid, "hemera.Up", args[0], "--data names a directory too").WithRemedy("name one of them"))
	// The path becomes absolute now: the process may change its directory later.
	case len(args) == 1:
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		return c.Flags().Set("data", dir)
	}
	l, err := config.Load(config.FromProcess(c.Flags()))
	if err != nil {
		return cli.Usage(err)
	}
	for _, v := range l.Values() {
		// /var/lib/hemera belongs to a manager that runs as a service.
		if v.Key == "data" && v.Source == "default" {
			dir, err := filepath.Abs(upData)
			if err != nil {
				return err
			}
			return c.Flags().Set("data", dir)
		}
	}
	return nil
}

// welcome prints the addresses of the cluster and commands to try first. It goes to standard output; the log goes to
// standard error.
func welcome(e *cli.Env, up *daemon.Up, tape bool) {
	// The lines below are meant to be copied into a terminal.
	url := "root://" + friendly(up.Manager.Addr)
	// Each line has an address and its purpose, in the order in which new users need them.
	doors := [][2]string{{url, "files, for any XRootD client"}, {"http://" + friendly(up.Manager.Addr) + "/metrics", "measurements, for Prometheus"}}
	if up.Manager.Socket != "" {
		doors = append(doors, [2]string{admin.SocketURL(up.Manager.Socket), "administration, for users of this machine"})
	}
	width := 0
	for _, d := range doors {
		width = max(width, len(d[0]))
	}
	fmt.Fprintf(e.Out, "Hemera %s is up: %s, data in %s\n\n", e.Build.Version, output.Count(int64(len(up.Nodes)), "node"), filepath.Dir(up.Manager.Dir()))
	// On a terminal the log of the start has scrolled away, or was not printed.
	_, refused := up.Disks()
	for _, r := range refused {
		fmt.Fprintf(e.Out, "  not used as a disk: %s: %s\n    what to do: %s\n", r.Path, r.Why, cmp.Or(r.Remedy, "see hemera status"))
	}
	if len(refused) > 0 {
		fmt.Fprintln(e.Out)
	}
	for _, d := range doors {
		fmt.Fprintf(e.Out, "  %-*s  %s\n", width, d[0], d[1])
	}
	fmt.Fprint(e.Out, "\nTry, in another terminal:\n\n")
	// Commands find the default port by themselves.
	if url != cli.URLDefault {
		fmt.Fprintf(e.Out, "  export HEMERA_URL=%s\n", url)
	}
	fmt.Fprintf(e.Out, "  xrdcp /etc/hostname %s//hello\n  hemera file info /hello\n  hemera fs ls\n", url)
	// Only the attribute puts files on tape, and users cannot guess it.
	if tape {
		fmt.Fprintf(e.Out, "\n  hemera mkdir /tape\n  hemera attr set sys.archive.storage_class=default /tape\n  xrdcp /etc/hostname %s//tape/hello\n  hemera tape top\n", url)
	}
	fmt.Fprint(e.Out, "\nCtrl-C stops it.\n")
}

// friendly writes a loopback address as localhost and returns other addresses unchanged.
func friendly(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}
