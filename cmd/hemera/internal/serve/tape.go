package serve

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/app/config"
	"hemera/app/daemon"
	"hemera/cmd/hemera/internal/cli"
	"hemera/errs"
	"hemera/platform/tape/emulated"
)

// tapeFolder is the folder of an emulated library in the directory of its process.
const tapeFolder = "tape"

// upTape is the library of `hemera up`: with --tape, or in a directory that has one. Its cartridges are small, so that a laptop's disk has room for
// them, and one can see a tape become full.
func upTape(l *config.Loaded) *daemon.TapeOptions {
	dir := filepath.Join(l.Data, tapeFolder)
	// A start without the flag must not leave files on tape out of reach.
	if _, err := os.Stat(dir); !l.Up.Tape && err != nil {
		return nil
	}
	// More slots than cartridges: one that is put back needs a place, whatever was moved meanwhile.
	return &daemon.TapeOptions{Name: "tape", Dir: dir, Speed: l.Tape.Speed,
		Spec: emulated.Spec{Drives: 2, Slots: 20, Cartridges: 16, Media: "LTO-9", Capacity: 4e9}}
}

// TapeServeCommand makes `hemera tape serve`, which runs a tape server.
func TapeServeCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run a tape server: a node with a tape library", Args: cobra.NoArgs,
		Long: `Runs a tape server until Ctrl-C: a node that has a tape library and no disks. It joins the cluster with a
token, as nodes do, and asks the manager for each drive what to do. The manager decides which tape is
mounted and which files are written; files go directly between the tape server and the nodes.

The library is emulated: cartridges are files below the data directory, and drives and robot take the
time of real ones, divided by --tape-speed. It has what --emulate says at the first start.
Its cartridges are shown by hemera tape library ls, and are used once they are added to a pool.`,
		Example: `  hemera token create | hemera tape serve --join-file - --data /tmp/tape --emulate drives=2,slots=40
  hemera tape serve --data /tmp/tape --tape-speed 1`,
	}
	// Not the settings of disks and scrubs: a tape server has none.
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "connections", "http.metrics_networks", "node.zone", "node.join", "node.join_file", "tape", "log")
	// Everything below is as for a node; see RunsNode.
	c.RunE = func(c *cobra.Command, _ []string) error {
		keepPrivate() // cartridges have everybody's files
		l, log, err := settings(e, c)
		if err != nil {
			return err
		}
		library, err := tapeLibrary(l)
		if err != nil {
			return err
		}
		// Needed at the first start only, as for any node.
		token, err := joinToken(e, l.Node)
		if err != nil {
			return err
		}
		// A node in every other way: it has a lease, a certificate and a port, so that admins find and measure it as the others.
		n, err := daemon.OpenNode(c.Context(), daemon.NodeOptions{
			Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone, WithoutLoop: !l.Connections.EventLoop,
			Tape: library, Join: token, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience,
			Executable: executable(), Version: e.Build.Version, Commit: e.Build.Commit, Log: log,
		})
		if err != nil {
			return err
		}
		// It joins in the background, and goes on trying: the manager may be away.
		log.Info("tape server is running", "addr", n.Addr, "library", library.Name)
		return serve(c.Context(), log, func() error { return n.Run(c.Context()) })
	}
	return c
}

// tapeLibrary is the library that settings describe, or the one in the data directory. An error is one of the command line.
// It opens nothing.
func tapeLibrary(l *config.Loaded) (*daemon.TapeOptions, error) {
	o := &daemon.TapeOptions{Name: l.Tape.Library, Dir: filepath.Join(l.Data, tapeFolder), Speed: l.Tape.Speed}
	if l.Tape.Emulate == "" {
		// An empty library that nobody asked for would only confuse.
		// A second start needs no description: the library is there.
		if _, err := os.Stat(o.Dir); err != nil {
			return nil, cli.Usage(errs.New(errs.Invalid, "hemera.TapeServe", o.Dir, "there is no tape library").
				WithRemedy("describe an emulated one: --emulate drives=2,slots=40"))
		}
		return o, nil
	}
	// Of a library that is there only the syntax is checked.
	var err error
	if o.Spec, err = daemon.ParseEmulation(l.Tape.Emulate); err != nil {
		return nil, cli.Usage(err)
	}
	return o, nil
}
