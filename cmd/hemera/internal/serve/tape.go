package serve

import (
	"fmt"
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
	"hemera/platform/tape/linux"
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
	return &daemon.TapeOptions{Name: "tape", Dir: dir, Speed: l.Tape.Speed, WithoutContainers: !l.Tape.Containers,
		Spec: emulated.Spec{Drives: 2, Slots: 20, Cartridges: 16, Media: "LTO-9", Capacity: 4e9}}
}

// TapeServeCommand makes `hemera tape serve`, which runs a tape server.
func TapeServeCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run a tape server: a node with a tape library", Args: cobra.NoArgs,
		Long: `Runs a tape server until Ctrl-C: a node that has a tape library and no disks. It joins the cluster with a
token, as nodes do, and asks the manager for each drive what to do. The manager decides which tape is
mounted and which files are written; files go directly between the tape server and the nodes.

A real library is found by itself, or named by --changer and --drive. With --emulate it is one of files
below the data directory, whose drives and robot take the time of real ones, divided by --tape-speed; the
next start finds it there. Cartridges are used once their tapes are added to a pool.`,
		Example: `  hemera token create | hemera tape serve --join-file - --data /tmp/tape --emulate drives=2,slots=40
  hemera tape serve --data /tmp/tape --tape-speed 1
  hemera tape serve --join-file token --changer /dev/sg3 --drive /dev/nst0 --drive /dev/nst1`,
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
		// Before the join: a mistake in these flags must not cost a token.
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
		log.Info("tape server is running", "addr", n.Addr)
		return serve(c.Context(), log, func() error { return n.Run(c.Context()) })
	}
	return c
}

// tapeLibrary is the library that settings describe: an emulated one, or devices, which are looked for where none are named.
// It opens no drive.
func tapeLibrary(l *config.Loaded) (*daemon.TapeOptions, error) {
	o := &daemon.TapeOptions{Name: l.Tape.Library, Dir: filepath.Join(l.Data, tapeFolder), Speed: l.Tape.Speed, WithoutContainers: !l.Tape.Containers}
	if l.Tape.Emulate != "" {
		// Of a library that is there only the syntax is checked.
		var err error
		if o.Spec, err = daemon.ParseEmulation(l.Tape.Emulate); err != nil {
			return nil, cli.Usage(err)
		}
		return o, nil
	}
	// A second start needs no description: the library is there.
	if _, err := os.Stat(o.Dir); err == nil {
		return o, nil
	}
	// What is named is not doubted: the open says what is wrong with it.
	o.Changer, o.Drives = l.Tape.Changer, l.Tape.Drives
	if o.Changer == "" || len(o.Drives) == 0 {
		if err := discover(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// discover completes the devices with those of this machine: its only library, and the drives in it. NotFound, with what to name.
func discover(o *daemon.TapeOptions) error {
	// It reads inventories, and moves nothing.
	found, err := linux.Discover("/sys")
	if err != nil {
		return err
	}
	if o.Changer == "" {
		// With two, a guess would move the cartridges of somebody else.
		if len(found.Changers) != 1 {
			return cli.Usage(errs.New(errs.NotFound, "hemera.TapeServe", "", fmt.Sprintf("this machine has %d tape libraries", len(found.Changers))).
				WithRemedy("name one with --changer /dev/sgN and --drive /dev/nstN, or try an emulated one: --emulate drives=2,slots=40"))
		}
		o.Changer = found.Changers[0].Device
	}
	if len(o.Drives) > 0 { // a site may leave drives to other programs
		return nil
	}
	for _, d := range found.Drives {
		// Paired by serial number: a drive that stands beside the library is none of its own.
		if d.Changer == o.Changer {
			o.Drives = append(o.Drives, d.Device)
		}
	}
	if len(o.Drives) == 0 {
		return cli.Usage(errs.New(errs.NotFound, "hemera.TapeServe", o.Changer, "no drive of this machine is in the library").
			WithRemedy("name its drives with --drive /dev/nstN"))
	}
	return nil
}
