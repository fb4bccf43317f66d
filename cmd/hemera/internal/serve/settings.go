package serve

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"hemera"
	"hemera/app/config"
	"hemera/app/daemon"
	"hemera/cmd/hemera/internal/cli"
	"hemera/doors/admin"
	"hemera/platform/thinlog"
)

// settings loads a server command's configuration: flags over environment over file over defaults.
func settings(e *cli.Env, c *cobra.Command) (*config.Loaded, *slog.Logger, error) {
	loaded, err := config.Load(config.FromProcess(c.Flags()))
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	log := logger(e, loaded.Log, loaded.Log.Level)
	for _, stranger := range e.Misspelt() {
		log.Warn("the environment has a variable that looks like a setting", "error", stranger, "remedy", stranger.Remedy)
	}
	return loaded, log, nil
}

// logger writes to standard error: coloured text for eyes, JSON for machines.
func logger(e *cli.Env, o config.Log, level slog.Leveler) *slog.Logger {
	format := o.Format
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

// spellDuration has logs say 1.5s: a number would leave its unit to be guessed.
func spellDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func managerOptions(e *cli.Env, l *config.Loaded, role string, log *slog.Logger) (daemon.ManagerOptions, error) {
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
