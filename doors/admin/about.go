package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"hemera"
)

// Setting is one setting in force and where it came from.
type Setting struct {
	Key    string
	Value  string
	Source string // default, file, environment, flag
}

// VersionInfo describes a running program.
type VersionInfo struct {
	Version string
	Commit  string
	Go      string
	Arch    string
	Role    string // up, manager, node
	Started time.Time
}

// serveAbout serves the verbs about the process itself. Version is open to every user.
func serveAbout(d *door) {
	unary(d, "Config", true, func(context.Context, hemera.Identity, *none) ([]Setting, error) {
		if d.Config == nil {
			return nil, nil
		}
		return d.Config(), nil
	})
	unary(d, "Version", false, func(context.Context, hemera.Identity, *none) (VersionInfo, error) {
		return d.Version, nil
	})
}

// health answers "ok" while the process can answer at all; the first line is for machines. Whether
// disks and nodes are well is what /metrics and `hemera fs ls` tell.
func (d *door) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if fromStranger(r) {
		fmt.Fprintln(w, "ok")
		return
	}
	fmt.Fprintf(w, "ok\nversion %s\nrole %s\n", d.Version.Version, d.Version.Role)
}

// page lists what is here, for people who come with a browser.
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
func (c aboutClient) Config(ctx context.Context) ([]Setting, error) {
	return call[[]Setting](ctx, c.server, "Config", none{})
}

// Version describes the server.
func (c aboutClient) Version(ctx context.Context) (VersionInfo, error) {
	return call[VersionInfo](ctx, c.server, "Version", none{})
}
