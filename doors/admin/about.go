package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Setting is one setting in force and where it came from.
type Setting struct {
	Key    string // as in the file, with dots: repair.grace
	Value  string // as a user would write it; secrets are masked
	Source string // default, file, environment, flag
}

// ConfigChange asks for other settings. The zero value reads the settings of files again.
type ConfigChange struct {
	Set   map[string]string `json:",omitempty"` // values by key, as on a command line
	Unset []string          `json:",omitempty"` // keys whose earlier Set ends
}

// SettingChange is a setting whose value is another one now, or after a restart.
type SettingChange struct {
	Key    string
	Was    string // in force before; with Restart: and still
	Value  string
	Source string // of Value
	// Restart is true if the new value is in force after a restart of the server only.
	Restart bool `json:",omitempty"`
}

// ConfigResult is what a change of settings did.
type ConfigResult struct{ Changes []SettingChange }

// VersionInfo describes a running program.
type VersionInfo struct {
	Version string    // of the release
	Commit  string    // what it was built of; may be empty
	Go      string    // of the toolchain
	Arch    string    // operating system and processor, as linux/amd64
	Role    string    // up, manager, node
	Started time.Time // when its services were assembled, by its own clock
}

// serveAbout serves the verbs about the process itself. Version and WhoAmI are open to every user.
func serveAbout(d *door) {
	unary(d, "Config", true, func(context.Context, hemera.Identity, *none) ([]Setting, error) {
		if d.Config == nil {
			return nil, nil
		}
		return d.Config(), nil
	})
	unary(d, "Configure", true, func(ctx context.Context, _ hemera.Identity, r *ConfigChange) (ConfigResult, error) {
		if d.Configure == nil {
			return ConfigResult{}, errs.New(errs.Unsupported, "admin.Configure", "", "settings of this server change with a restart only")
		}
		return d.Configure(ctx, *r)
	})
	unary(d, "WhoAmI", false, func(_ context.Context, who hemera.Identity, _ *none) (hemera.Identity, error) {
		return who, nil
	})
	unary(d, "Version", false, func(context.Context, hemera.Identity, *none) (VersionInfo, error) {
		return d.Version, nil
	})
}

// health answers "ok" while the process can answer at all; the first line is for machines. Whether
// disks and nodes are well is what /metrics and `hemera fs ls` tell.
// It calls no service: a supervisor must not restart a process because a disk or a node is stalled. Strangers learn
// nothing but that it runs.
func (d *door) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if fromStranger(r) {
		fmt.Fprintln(w, "ok")
		return
	}
	fmt.Fprintf(w, "ok\nversion %s\nrole %s\n", d.Version.Version, d.Version.Role)
}

// page lists what is here, for people who come with a browser.
// It is plain text, so that curl shows it as a browser does. Strangers see neither the version nor the verbs.
func (d *door) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if fromStranger(r) {
		fmt.Fprintf(w, "Hemera\n\nroot://%s/    files, for any XRootD client\n", r.Host)
		return
	}
	fmt.Fprintf(w, "Hemera %s (%s)\n\n", d.Version.Version, d.Version.Role)
	fmt.Fprintf(w, "root://%s/    files, for any XRootD client\n", r.Host)
	fmt.Fprintf(w, "/metrics      measurements, for Prometheus\n/healthz      is it alive\n\n")
	fmt.Fprintf(w, "Verbs of the admin API, each one POST of a JSON object:\n\n")
	for _, v := range d.verbs {
		fmt.Fprintf(w, "%s%s\n", service, v)
	}
	fmt.Fprintf(w, "\n  curl -H 'Content-Type: application/json' -d '{}' http://%s%sView\n", r.Host, service)
}

// aboutClient is the part of a [Client] that asks what the server is.
type aboutClient struct{ server *server }

// Config lists the settings in force at the server.
// It needs an admin: values have paths and networks.
func (c aboutClient) Config(ctx context.Context) ([]Setting, error) {
	return call[[]Setting](ctx, c.server, "Config", none{})
}

// Configure changes settings of the server, or has it read its settings again. It needs an admin.
func (c aboutClient) Configure(ctx context.Context, r ConfigChange) (ConfigResult, error) {
	return call[ConfigResult](ctx, c.server, "Configure", r)
}

// Version describes the server.
// Any user may ask, and a client of another machine uses it to find out where the server is; see nearest.
func (c aboutClient) Version(ctx context.Context) (VersionInfo, error) {
	return call[VersionInfo](ctx, c.server, "Version", none{})
}

// WhoAmI is the caller as the server found out. Any user may ask.
func (c aboutClient) WhoAmI(ctx context.Context) (hemera.Identity, error) {
	return call[hemera.Identity](ctx, c.server, "WhoAmI", none{})
}
