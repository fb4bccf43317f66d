package serve

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/process/config"
	"hemera/process/daemon"
	"hemera/tape/device/emulated"
	"hemera/tape/device/linux"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tapeFolder is the folder of an emulated library in the directory of its process.
const tapeFolder = "tape"

// upTape returns the options of the library of `hemera up`, or nil without one. There is one with --tape, or in a
// directory that has one already. Its cartridges are small: a laptop's disk has room for them, and users can see a tape
// become full.
func upTape(l *config.Loaded) *daemon.TapeOptions {
	dir := filepath.Join(l.Data, tapeFolder)
	// A start without the flag must not leave files on tape out of reach.
	if _, err := os.Stat(dir); !l.Up.Tape && err != nil {
		return nil
	}
	// There are more slots than cartridges, so that a cartridge always finds a free slot.
	return &daemon.TapeOptions{Name: "tape", Dir: dir, Speed: l.Tape.Speed, WithoutContainers: !l.Tape.Containers,
		Spec: emulated.Spec{Drives: 2, Slots: 20, Cartridges: 16, Media: "LTO-9", Capacity: 4e9}}
}

// emulatedData is the default directory of the server of an emulated library. It is in the working directory, as that of
// `hemera up` is: /var/lib/hemera belongs to a manager, and a user who tries tape cannot write there.
const emulatedData = "./hemera-emulated"

// tokenLifetime is the lifetime of the token that a tape server asks for. The token is used at once.
const tokenLifetime = 10 * time.Minute

// TapeServeCommand makes `hemera tape serve`, which runs a tape server.
func TapeServeCommand(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Run a tape server: a node with a tape library", Args: cobra.NoArgs,
		Long: `Runs a tape server until Ctrl-C: a node that has a tape library and no disks. It joins the cluster with a
token, as nodes do. An admin admits it: "hemera tape server add NODE". It asks the manager for each drive what to do. The manager decides which tape is
mounted and which files are written; files go directly between the tape server and the nodes.

A real library is found by itself, or named by --changer and --drive. With --emulate it is one of files
below the data directory, whose drives and robot take the time of real ones, divided by --tape-speed; the
next start finds it there. Cartridges are used once their tapes are added to a pool.

An emulated library runs beside a manager as it is: its directory is ` + emulatedData + ` and its port a free one,
unless you name others, and at its first start it gets its token from the manager at --url, if you are the
manager's admin. On another machine it needs --join-file, as a real library does.`,
		Example: `  hemera tape serve --emulate drives=2,slots=40
  hemera tape serve --data /tmp/tape --tape-speed 1
  hemera token create | ssh tape1 hemera tape serve --listen 10.1.0.9 --join-file -
  hemera tape serve --join-file token --changer /dev/sg3 --drive /dev/nst0 --drive /dev/nst1`,
	}
	tapeFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return serveTape(e, c) }
	return c
}

// RunsTape makes the command `hemera tape` run a tape server if it has flags of one and no sub-command. Package tape
// makes the command; without such flags it works as before. Sub-commands do not inherit the flags.
func RunsTape(e *cli.Env, c *cobra.Command) {
	own := tapeFlags(c)
	// Most readers of this help want a sub-command; the others try tape without hardware.
	shown := []string{"data", "emulate", "port", "tape-speed"}
	own.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(shown, f.Name) })
	c.Long += `

To try tapes without hardware, add an emulated library to the cluster of this machine, as its admin. It runs
until Ctrl-C:

  hemera tape --emulate drives=2,slots=40

This is "hemera tape serve", which runs the tape server of a real library too; "hemera tape serve --help"
has all flags.`
	noun := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		given := false
		own.VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
		if len(args) > 0 || !given {
			return noun(c, args)
		}
		return serveTape(e, c)
	}
}

// tapeFlags adds the flags of a tape server to a command and returns them.
func tapeFlags(c *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	// Settings of disks and scrubs are left out: a tape server has no disks.
	config.Register(own, "data", "listen", "port", "advertise", "connections", "http.metrics_networks", "http.hosts", "node.zone", "node.join", "node.join_file", "tape", "log")
	own.Lookup("data").Usage += "; with --emulate " + emulatedData + " is the default"
	own.Lookup("port").Usage += ", which is the default of an emulated library"
	c.Flags().AddFlagSet(own)
	return own
}

// serveTape runs the tape server that the flags of a command describe, until the command's context ends.
func serveTape(e *cli.Env, c *cobra.Command) error {
	keepPrivate() // cartridges hold the files of all users
	l, v, err := settings(e, c, false)
	if err != nil {
		return err
	}
	joined := false // with a token of the manager's admin, who runs this command
	o, err := tapeOptions(e, l, func(context.Context) (string, error) {
		token, err := askToken(e, c)
		joined = err == nil
		return token, err
	})
	if err != nil {
		return err
	}
	log := v.log
	o.Log = log
	n, err := daemon.OpenNode(c.Context(), o)
	if err != nil {
		return err
	}
	if joined {
		if err := admit(e, c, n.ID()); err != nil {
			log.Warn("the tape server is not admitted yet", "error", err, "remedy", "an admin admits it: hemera tape server add "+n.ID().String())
		}
	}
	// The node gets its lease in the background and retries, because the manager may be unreachable.
	log.Info("tape server is running", "addr", n.Addr, "directory", o.Dir)
	v.apply = func(now config.Config, _ []config.Changed) { n.Change(nodeLive(now)) }
	return v.serve(c.Context(), func() error { return n.Run(c.Context()) })
}

// admit asks the manager at --url to admit a node as a tape server, as `hemera tape server add` does.
func admit(e *cli.Env, c *cobra.Command, node hemera.NodeID) error {
	return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
		return m.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: string(tapeconfig.KindServer), Verb: "add", Name: node.String()})
	})
}

// tapeOptions turns settings into the options of a tape server, without its log. If an emulated library has no join
// token, ask gets one. tapeOptions reads the token and opens nothing else.
func tapeOptions(e *cli.Env, l *config.Loaded, ask func(context.Context) (string, error)) (o daemon.NodeOptions, err error) {
	if l.Tape.Emulate != "" && unsaid(l, "data") {
		// The path becomes absolute, because errors that name it do not show the working directory.
		if l.Data, err = filepath.Abs(emulatedData); err != nil {
			return o, err
		}
	}
	// The library comes before the join, so that a mistake in these flags does not use up a token.
	library, err := tapeLibrary(l)
	if err != nil {
		return o, err
	}
	// The token is needed at the first start only, as for any node.
	token, err := joinToken(e, l.Node)
	if err != nil {
		return o, err
	}
	emulated := library.Dir != ""
	// The manager has the default port. Clients learn the port of a tape server from the manager.
	if emulated && unsaid(l, "port") {
		l.Port = 0
	}
	// A given file or pipe without a token is a mistake that the admin must see.
	if !emulated || l.Node.Join != "" || l.Node.JoinFile != "" {
		ask = nil
	}
	// In all else a tape server is a node: it has a lease, a certificate and a port, so admins find and measure it like
	// the others.
	return daemon.NodeOptions{
		Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone, WithoutLoop: !l.Connections.EventLoop,
		Tape: library, Join: token, AskToken: ask, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience,
		Executable: executable(), Version: e.Build.Version, Commit: e.Build.Commit,
	}, nil
}

// askToken asks the manager at --url for a join token for one node, as `hemera token create` does. It blocks until the
// manager answers. It fails with Denied if the caller is not an admin of the manager; the remedy says how to get a token
// in another way.
func askToken(e *cli.Env, c *cobra.Command) (string, error) {
	var token string
	err := e.Ask(c, func(ctx context.Context, m *admin.Client) error {
		made, err := m.Trust.CreateToken(ctx, adminapi.TokenRequest{Uses: 1, Lifetime: tokenLifetime})
		token = made
		return err
	})
	if err == nil {
		return token, nil
	}
	remedy := "run `hemera token create` on the manager's machine, and give the token to this command with --join-file"
	// The remedy of the manager's error comes first: most often the manager does not run, or the user is not its admin.
	if own := errs.RemedyOf(err); own != "" {
		remedy = own + "; or " + remedy
	}
	return "", &errs.Error{Kind: errs.KindOf(err), Op: "hemera.AskForAJoinTokenAt", Subject: e.ClusterURL(), Cause: err, Remedy: remedy}
}

// tapeLibrary returns the library that the settings describe: an emulated one, or devices, which it looks for if none are
// named. It opens no drive. Dir of the result is "" for devices.
func tapeLibrary(l *config.Loaded) (*daemon.TapeOptions, error) {
	o := &daemon.TapeOptions{Name: l.Tape.Library, Dir: filepath.Join(l.Data, tapeFolder), Speed: l.Tape.Speed, WithoutContainers: !l.Tape.Containers}
	if l.Tape.Emulate != "" {
		// If the library exists, only the syntax of the flag is checked.
		var err error
		if o.Spec, err = daemon.ParseEmulation(l.Tape.Emulate); err != nil {
			return nil, cli.Usage(err)
		}
		return o, nil
	}
	// A second start needs no description: the library exists.
	if _, err := os.Stat(o.Dir); err == nil {
		return o, nil
	}
	// Named devices are not checked here: opening them reports errors.
	o.Dir, o.Changer, o.Drives = "", l.Tape.Changer, l.Tape.Drives
	if o.Changer == "" || len(o.Drives) == 0 {
		if err := discover(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// discover completes the devices with those of this machine: its only library, and the drives in it. It fails with
// NotFound if it finds none or several; the remedy says what to name.
func discover(o *daemon.TapeOptions) error {
	// Discover reads inventories and moves nothing.
	found, err := linux.Discover("/sys")
	if err != nil {
		return err
	}
	if o.Changer == "" {
		// With two libraries, a guess could move the cartridges of another system.
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
		// Drives are paired with a library by serial number: a drive beside the library is not part of it.
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
