package serve

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/platform/thinlog"
	"hemera/process/config"
	"hemera/process/daemon"
	"hemera/words/hemera"
)

// settings loads the configuration of a server command (flags over environment over file over defaults) and makes its
// logger. It warns of environment variables that look like settings but are unknown. An invalid setting is an error of
// the command line (ExitUsage). With kept, the values that `hemera config set` saved are read too.
func settings(e *cli.Env, c *cobra.Command, kept bool) (*config.Loaded, *live, error) {
	from := config.FromProcess(c.Flags())
	from.Kept = kept
	loaded, err := config.Load(from)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	v := &live{running: config.NewRunning(from, loaded), hup: !e.Live}
	v.level.Set(loaded.Log.Level)
	v.log = logger(e, loaded.Log, &v.level)
	log := v.log
	// Without the warning, a server would use the default of a misspelt setting silently.
	for _, stranger := range e.Misspelt() {
		log.Warn("the environment has a variable that looks like a setting", "error", stranger, "remedy", stranger.Remedy)
	}
	return loaded, v, nil
}

// logger returns a logger to standard error: coloured text on a terminal, JSON lines otherwise. Package thinlog bounds
// the number of lines that clients can cause. The level may change while the logger is in use.
func logger(e *cli.Env, o config.Log, level slog.Leveler) *slog.Logger {
	format := o.Format
	// A person reads a terminal; a program probably reads anything else.
	if format == "auto" {
		format = "json"
		if e.Live {
			format = "text"
		}
	}
	if format == "text" {
		return slog.New(thinlog.New(tint.NewTextHandler(e.Err, &tint.Options{Level: level, NoColor: !(e.Live && e.MayColour())})))
	}
	return slog.New(thinlog.New(slog.NewJSONHandler(e.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: spellDuration})))
}

// spellDuration writes durations in logs as 1.5s, because a number would not show its unit. Its signature is that of
// slog.HandlerOptions.ReplaceAttr.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// unsaid reports whether a setting has its default because no flag, variable or file gives another value. It is false for
// an unknown key.
func unsaid(l *config.Loaded, key string) bool {
	return slices.ContainsFunc(l.Values(), func(v config.Value) bool { return v.Key == key && v.Source == "default" })
}

// managerOptions turns settings into the options of a manager. role is "up" or "manager"; hemera version shows it.
func managerOptions(e *cli.Env, l *config.Loaded, role string, v *live) (daemon.ManagerOptions, error) {
	// Settings of the space can contradict each other; that is an error before anything is opened.
	space, err := l.Space.Define(hemera.DefaultSpace)
	socket, wished := adminSocket(l)
	return daemon.ManagerOptions{
		Dir: l.Data, Listen: net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)), Advertise: l.Advertise, WithoutLoop: !l.Connections.EventLoop, // where and how
		Trusted: l.Auth.TrustedNetworks, Sources: l.TPC.Allow, Metrics: l.HTTP.MetricsNetworks, Hosts: l.HTTP.Hosts, CacheBytes: int64(l.Cache.Namespace), RepairGrace: l.Repair.Grace, RemovalHold: l.Removal.Hold, WritesOfUser: l.Writes.PerUser, WritesOfSession: l.Writes.PerConnection, Space: space, TokenLifetime: l.Auth.TokenLifetime, ApproveNodes: l.Auth.Admission == "admin", NewDisksOff: l.Auth.NewDisks == "off",
		HTTPListen: l.HTTP.Listen, HTTPSocket: socket, SocketWished: wished, Role: role, Version: e.Build.Version, Commit: e.Build.Commit, Log: v.log,
		Settings: v.settings, Configure: v.configure,
	}, err
}

// adminSocket returns the path of the admin API's unix socket, or "" for none, and whether the user chose it (also true
// for a chosen path that equals the default). A relative path is below the data directory. Without a choice, a manager
// that cannot make the socket starts without it.
func adminSocket(l *config.Loaded) (path string, wished bool) {
	for _, v := range l.Values() {
		wished = wished || v.Key == "http.socket" && v.Source != "default"
	}
	if l.HTTP.Socket == "" || filepath.IsAbs(l.HTTP.Socket) {
		return l.HTTP.Socket, wished
	}
	// The path of a unix socket has about 100 characters at most; clients need the absolute one.
	path = filepath.Join(l.Data, l.HTTP.Socket)
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return path, wished
}

// noteSocket makes `hemera config show` print the absolute path of the manager's socket, or "" if there is none.
func noteSocket(l *config.Loaded, m *daemon.Manager) {
	for _, v := range l.Values() {
		if v.Key == "http.socket" {
			// The source stays; only the value becomes absolute.
			l.Note(v.Key, m.Socket, v.Source)
		}
	}
}

// warnOfSpace logs a warning if the configured default space differs from that of the cluster. The settings space.* are
// for new clusters only; later the policy in the cluster's records counts, which admins change with space set.
func warnOfSpace(ctx context.Context, l *config.Loaded, m *daemon.Manager, log *slog.Logger) {
	wish, err := l.Space.Define(hemera.DefaultSpace)
	view, viewErr := m.Admin.View(ctx)
	if err != nil || viewErr != nil {
		return
	}
	// The default space always exists.
	have, _ := view.Space(hemera.DefaultSpace)
	for _, v := range l.Values() {
		if strings.HasPrefix(v.Key, "space.") && v.Source != "default" && have != wish {
			log.Warn("the cluster's default space is not as configured: these settings are for new clusters",
				"key", v.Key, "from", v.Source, "remedy", "see `hemera space status default`, change it with `hemera space set default …`")
			return
		}
	}
}
