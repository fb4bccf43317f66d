package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"hemera"
	"hemera/app/config"
	"hemera/app/daemon"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

// settings loads a server command's configuration: flags over environment over file over defaults.
func (e *env) settings(c *cobra.Command) (*config.Loaded, *slog.Logger, error) {
	loaded, err := config.Load(config.FromProcess(c.Flags()))
	if err != nil {
		return nil, nil, usage(err)
	}
	log := e.logger(loaded.Log, loaded.Log.Level)
	for _, stranger := range e.misspelt() {
		log.Warn("the environment has a variable that looks like a setting", "err", stranger, "remedy", stranger.Remedy)
	}
	return loaded, log, nil
}

// logger writes to standard error: coloured text for eyes, JSON for machines.
func (e *env) logger(o config.Log, level slog.Leveler) *slog.Logger {
	format := o.Format
	if format == "auto" {
		format = "json"
		if e.Live {
			format = "text"
		}
	}
	if format == "text" {
		return slog.New(daemon.Thin(tint.NewTextHandler(e.Err, &tint.Options{Level: level, NoColor: !(e.Live && e.mayColour())})))
	}
	return slog.New(daemon.Thin(slog.NewJSONHandler(e.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: spellDuration})))
}

// spellDuration has logs say 1.5s: a number would leave its unit to be guessed.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func (e *env) managerOptions(l *config.Loaded, role string, log *slog.Logger) (daemon.ManagerOptions, error) {
	space, err := l.Space.Define(hemera.DefaultSpace)
	socket, wished := adminSocket(l)
	return daemon.ManagerOptions{
		Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise,
		Trusted: l.Auth.TrustedNetworks, Sources: l.TPC.Allow, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, CacheBytes: int64(l.Cache.Namespace), RepairGrace: l.Repair.Grace, RemovalHold: l.Removal.Hold, WritesOfUser: l.Writes.PerUser, WritesOfSession: l.Writes.PerConnection, Space: space, TokenLifetime: l.Auth.TokenLifetime, ApproveNodes: l.Auth.Admission == "admin", NewDisksOff: l.Auth.NewDisks == "off",
		HTTPListen: l.HTTP.Listen, HTTPSocket: socket, SocketWished: wished, Role: role, Version: e.Build.Version, Commit: e.Build.Commit, Log: log,
		Settings: func() []admin.Setting {
			var out []admin.Setting
			for _, v := range l.Values() {
				out = append(out, admin.Setting{Key: v.Key, Value: v.Value, Source: v.Source})
			}
			return out
		},
	}, err
}

// adminSocket is the path of the unix socket, empty for none, and whether somebody asked for it.
func adminSocket(l *config.Loaded) (path string, wished bool) {
	for _, v := range l.Values() {
		wished = wished || v.Key == "http.socket" && v.Source != "default"
	}
	if l.HTTP.Socket == "" || filepath.IsAbs(l.HTTP.Socket) {
		return l.HTTP.Socket, wished
	}
	path = filepath.Join(l.Data, l.HTTP.Socket)
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return path, wished
}

// noteSocket has `config show` name the whole path of the unix socket that there is.
func noteSocket(l *config.Loaded, m *daemon.Manager) {
	for _, v := range l.Values() {
		if v.Key == "http.socket" {
			l.Note(v.Key, m.Socket, v.Source)
		}
	}
}

// warnOfSpace says so when the settings of the first space are not what the cluster has: they are for
// a new one only.
func warnOfSpace(ctx context.Context, l *config.Loaded, m *daemon.Manager, log *slog.Logger) {
	wish, err := l.Space.Define(hemera.DefaultSpace)
	view, viewErr := m.View(ctx)
	if err != nil || viewErr != nil {
		return
	}
	have, _ := view.Space(hemera.DefaultSpace)
	for _, v := range l.Values() {
		if strings.HasPrefix(v.Key, "space.") && v.Source != "default" && have != wish {
			log.Warn("the cluster's default space is not as configured: these settings are for new clusters",
				"key", v.Key, "from", v.Source, "remedy", "see `hemera space status default`, change it with `hemera space set default …`")
			return
		}
	}
}

// stopPatience is how long a node that is stopped waits for the writes under way to end: less than the 90 s after
// which systemd kills what it stops.
const stopPatience = time.Minute

func upCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use: "up [DIR]", Short: "Run a whole cluster on this machine: a manager and nodes in one process", GroupID: "serve",
		Long: `Runs a manager and storage nodes in one process, with folders as disks, until Ctrl-C.
Everything is kept in DIR (default ./hemera-data) and is there again at the next start, also
the number of nodes and disks and the grace, unless other ones are given then.
It listens on this machine only unless --listen says otherwise.`,
		Example: `  hemera up
  hemera up /data/hemera --port 21094 --nodes 3`,
		Args: cobra.MaximumNArgs(1),
	}
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "http", "auth", "tpc", "space", "up", "repair", "removal", "writes", "scrub", "cache", "log")
	data := c.Flags().Lookup("data")
	data.DefValue = upData
	data.Usage += "; the same as DIR"
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := chooseData(c, args); err != nil {
			return err
		}
		addProcessors()
		keepPrivate()
		l, log, err := e.settings(c)
		if err != nil {
			return err
		}
		var level slog.LevelVar
		if level.Set(l.Log.Level); e.Live && l.Log.Level == slog.LevelInfo {
			level.Set(slog.LevelWarn) // until the welcome: a start that goes well is no news
			log = e.logger(l.Log, &level)
		}
		if l.Data, err = filepath.Abs(l.Data); err != nil {
			return err
		}
		shape, err := upShape(l, log)
		if err != nil {
			return err
		}
		options, err := e.managerOptions(l, "up", log)
		if err != nil {
			return err
		}
		up, err := daemon.OpenUp(c.Context(), daemon.UpOptions{Manager: options, Nodes: shape.Nodes, Disks: shape.Disks, Zone: l.Node.Zone, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate)})
		if err != nil {
			return err
		}
		if err := daemon.SaveUpShape(l.Data, shape); err != nil {
			return err
		}
		noteSocket(l, up.Manager)
		warnOfSpace(c.Context(), l, up.Manager, log)
		limitMemory(l)
		return serve(c.Context(), log, func() error { return up.Run(c.Context(), func() { level.Set(l.Log.Level); e.welcome(up) }) })
	}
	return c
}

// upShape is with how many nodes and disks, and which grace, a cluster starts: what was said this time,
// else what was used last time, else the defaults.
func upShape(l *config.Loaded, log *slog.Logger) (daemon.UpShape, error) {
	said := map[string]bool{}
	for _, v := range l.Values() {
		said[v.Key] = v.Source != "default"
	}
	last, ok, err := daemon.LoadUpShape(l.Data)
	if err != nil {
		return last, err
	}
	if ok {
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
		case l.Up.Disks >= l.Up.Nodes:
		case said["up.nodes"]:
			l.Up.Disks = l.Up.Nodes
		default:
			l.Up.Nodes = l.Up.Disks
		}
	}
	for key, value := range map[string]string{
		"up.nodes": strconv.Itoa(l.Up.Nodes), "up.disks": strconv.Itoa(l.Up.Disks), "repair.grace": l.Repair.Grace.String(),
	} {
		if ok && !said[key] {
			l.Note(key, value, "as before")
		}
	}
	now := daemon.UpShape{Nodes: l.Up.Nodes, Disks: l.Up.Disks, Grace: l.Repair.Grace}
	if ok && now != last && last.Grace > 0 {
		log.Info("the cluster is started in another way than last time", "nodes", now.Nodes, "disks", now.Disks, "grace", now.Grace,
			"nodes_before", last.Nodes, "disks_before", last.Disks, "grace_before", last.Grace)
	}
	return now, daemon.CheckUpDisks(l.Data, now.Disks)
}

// upData is where `hemera up` keeps everything when nothing says otherwise.
const upData = "./hemera-data"

// chooseData settles the directory of `hemera up`: DIR or --data, else what environment or file say,
// else one of its own rather than that of a manager.
func chooseData(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 1 && c.Flags().Changed("data"):
		return usage(errs.New(errs.Invalid, "up", args[0], "--data names a directory too").WithRemedy("name one of them"))
	case len(args) == 1:
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		return c.Flags().Set("data", dir)
	}
	l, err := config.Load(config.FromProcess(c.Flags()))
	if err != nil {
		return usage(err)
	}
	for _, v := range l.Values() {
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

// welcome says where the cluster is and what to try.
func (e *env) welcome(up *daemon.Up) {
	url := "root://" + friendly(up.Manager.Addr)
	doors := [][2]string{{url, "files, for any XRootD client"}, {"http://" + friendly(up.Manager.Addr) + "/metrics", "measurements, for Prometheus"}}
	if up.Manager.Socket != "" {
		doors = append(doors, [2]string{admin.SocketURL(up.Manager.Socket), "administration, for users of this machine"})
	}
	width := 0
	for _, d := range doors {
		width = max(width, len(d[0]))
	}
	fmt.Fprintf(e.Out, "Hemera %s is up: %s, data in %s\n\n", e.Build.Version, output.Count(int64(len(up.Nodes)), "node"), filepath.Dir(up.Manager.Dir()))
	for _, d := range doors {
		fmt.Fprintf(e.Out, "  %-*s  %s\n", width, d[0], d[1])
	}
	fmt.Fprint(e.Out, "\nTry, in another terminal:\n\n")
	if url != urlDefault {
		fmt.Fprintf(e.Out, "  export HEMERA_URL=%s\n", url)
	}
	fmt.Fprintf(e.Out, "  xrdcp /etc/hostname %s//hello\n  hemera file info /hello\n  hemera fs ls\n\nCtrl-C stops it.\n", url)
}

// friendly writes a loopback address as people do.
func friendly(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

func managerCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use: "manager", Short: "Run a manager: the namespace, placement and administration", GroupID: "serve",
		Long: `Runs the manager of a cluster until Ctrl-C. Storage nodes join it with a token:

  hemera manager --listen 10.1.0.1 --trusted-networks 10.1.0.0/24
  hemera token create                       (on the manager's machine)
  hemera node --listen 10.1.0.2 --join-file TOKENFILE --disk /disk1     (on each node)`,
		Args: cobra.NoArgs,
	}
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "http", "auth", "tpc", "space", "repair", "removal", "writes", "cache", "log")
	c.RunE = func(c *cobra.Command, _ []string) error {
		addProcessors()
		keepPrivate()
		l, log, err := e.settings(c)
		if err != nil {
			return err
		}
		options, err := e.managerOptions(l, "manager", log)
		if err != nil {
			return err
		}
		m, err := daemon.OpenManager(c.Context(), options)
		if err != nil {
			return err
		}
		noteSocket(l, m)
		warnOfSpace(c.Context(), l, m, log)
		log.Info("manager is serving", "addr", m.Addr, "socket", m.Socket)
		limitMemory(l)
		return serve(c.Context(), log, func() error { return m.Run(c.Context()) })
	}
	return c
}

// runsNode makes the noun `node` also the command that runs one.
func (e *env) runsNode(c *cobra.Command) {
	config.Register(c.Flags(), "data", "listen", "port", "advertise", "http.metrics_networks", "node", "scrub", "log")
	c.Example = `  hemera node --join-file token --listen 10.1.0.2 --disk /disk1 --disk /disk2
  hemera node ls`
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		addProcessors()
		keepPrivate()
		l, log, err := e.settings(c)
		if err != nil {
			return err
		}
		var disks []hemera.AttachDisk
		for _, d := range l.Node.Disks {
			path, space := d, ""
			if i := lastEqual(d); i > 0 {
				path, space = d[:i], d[i+1:]
			}
			disks = append(disks, hemera.AttachDisk{Path: path, Space: space})
		}
		token, err := e.joinToken(l.Node)
		if err != nil {
			return err
		}
		n, err := daemon.OpenNode(c.Context(), daemon.NodeOptions{
			Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, Zone: l.Node.Zone,
			Disks: disks, Join: token, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, StopPatience: stopPatience, ScrubRate: int64(l.Scrub.Rate),
			Version: e.Build.Version, Commit: e.Build.Commit, Log: log,
		})
		if err != nil {
			return err
		}
		go func() {
			select {
			case <-n.Joined():
				log.Info("node is serving", "addr", n.Addr, "node", n.ID())
			case <-c.Context().Done():
			}
		}()
		return serve(c.Context(), log, func() error { return n.Run(c.Context()) })
	}
}

// joinToken is the token that the node is to join with, from wherever it was given.
func (e *env) joinToken(n config.Node) (string, error) {
	if n.Join != "" || n.JoinFile == "" {
		return n.Join, nil
	}
	from := e.In
	if n.JoinFile != "-" {
		f, err := os.Open(n.JoinFile)
		if err != nil {
			return "", errs.Wrap(err, "read the join token", n.JoinFile)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, joinMax))
	return strings.TrimSpace(string(text)), errs.Wrap(err, "read the join token", n.JoinFile)
}

// joinMax bounds what is read for a token, which is shorter.
const joinMax = 16 << 10

func lastEqual(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '=' {
			return i
		}
	}
	return -1
}

// heapFloor is memory that is never touched and so never there; it makes the collector wait until as
// much garbage has come. A server with a small heap would collect after every few megabytes otherwise,
// which is a quarter of the CPU of opens.
const heapFloor = 64 << 20

// limitMemory bounds the heap by the manager's cache, unless the environment has set a limit.
func limitMemory(l *config.Loaded) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(daemon.MemoryLimit(int64(l.Cache.Namespace)))
	}
}

// addProcessors doubles what Go's scheduler takes for processors, unless the environment says how many
// there are. Half of them stay with pollers, also while these wait in the kernel (package link); with
// none besides, who waits for a disk has to wait for one of these too.
func addProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// keepPrivate has all files of a server made for its own user alone: pieces are users' files, whatever their modes say.
func keepPrivate() { syscall.Umask(0o077) }

// serve runs a server until it ends, and leaves in the log why it did.
func serve(ctx context.Context, log *slog.Logger, run func() error) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	defer context.AfterFunc(ctx, func() { log.Info("stopping", "why", context.Cause(ctx)) })()
	err := run()
	log.Info("stopped")
	return err
}
