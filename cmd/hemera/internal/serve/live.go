package serve

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"hemera/process/config"
	"hemera/process/daemon"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// live has the settings of a running server, and applies new ones. All but running and level is set before the server
// serves.
type live struct {
	running *config.Running
	level   slog.LevelVar // of log
	log     *slog.Logger
	// hup is false for a server at a terminal, whose SIGHUP means the end of the terminal and ends the server.
	hup bool
	// apply applies settings in all parts of the server. It does not fail.
	apply func(now config.Config, changes []config.Changed)
}

// managerLive returns the settings that a manager can change while it runs.
func managerLive(c config.Config) daemon.Live {
	return daemon.Live{Trusted: c.Auth.TrustedNetworks, Sources: c.TPC.Allow, Metrics: c.HTTP.MetricsNetworks, Hosts: c.HTTP.Hosts,
		RepairGrace: c.Repair.Grace, RemovalHold: c.Removal.Hold}
}

// nodeLive returns the settings that a node can change while it runs.
func nodeLive(c config.Config) daemon.NodeLive {
	return daemon.NodeLive{Metrics: c.HTTP.MetricsNetworks, Hosts: c.HTTP.Hosts, ScrubRate: int64(c.Scrub.Rate)}
}

// settings returns the current settings, without secrets.
func (v *live) settings() (out []adminapi.Setting) {
	for _, s := range v.running.Values() {
		out = append(out, adminapi.Setting{Key: s.Key, Value: s.Value, Source: s.Source})
	}
	return out
}

// configure implements Configure of [admin.Services].
func (v *live) configure(ctx context.Context, r adminapi.ConfigChange) (out adminapi.ConfigResult, err error) {
	changes, err := v.running.Change(ctx, r.Set, r.Unset, func(now config.Config, changes []config.Changed) {
		v.level.Set(now.Log.Level)
		v.apply(now, changes)
	})
	for _, c := range changes {
		out.Changes = append(out.Changes, adminapi.SettingChange(c))
		text := "a setting changed"
		if c.Restart {
			text = "a setting changed that needs a restart"
		}
		v.log.Info(text, "key", c.Key, "was", c.Was, "value", c.Value, "from", c.Source)
	}
	if err == nil {
		return out, nil
	}
	return out, oneOf(err)
}

// oneOf joins all errors about settings, each with its key and its remedy, in one line.
func oneOf(err error) error {
	var texts, remedies []string
	var add func(error)
	add = func(err error) {
		if all, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range all.Unwrap() {
				add(e)
			}
			return
		}
		texts = append(texts, strings.TrimPrefix(errs.Plain(err.Error()), "load "))
		if r := errs.RemedyOf(err); r != "" && !slices.Contains(remedies, r) {
			remedies = append(remedies, r)
		}
	}
	add(err)
	return errs.New(errs.KindOf(err), "hemera.Configure", "", strings.Join(texts, "; ")).WithRemedy(strings.Join(remedies, "; "))
}

// followHangups reads the settings again at each SIGHUP, until the caller ends it. Errors are logged, each with its
// place.
func (v *live) followHangups(ctx context.Context) (end func()) {
	if !v.hup || signal.Ignored(syscall.SIGHUP) { // nohup(1)
		return func() {}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
			}
			out, err := v.configure(ctx, adminapi.ConfigChange{})
			if err != nil {
				v.log.Error("the settings were not read again: those before stay in force", "error", err, "remedy", errs.RemedyOf(err))
				continue
			}
			v.log.Info("the settings were read again", "different", len(out.Changes))
		}
	}()
	return func() {
		signal.Stop(hangups)
		cancel()
	}
}
