package admin

import (
	"context"
	"fmt"
	"net/http"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// serveAbout serves the verbs about the process itself. Version and WhoAmI are open to every user.
func serveAbout(d *door) {
	unary(d, "Config", true, func(context.Context, hemera.Identity, *adminapi.None) ([]adminapi.Setting, error) {
		if d.Config == nil {
			return nil, nil
		}
		return d.Config(), nil
	})
	unary(d, "Configure", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.ConfigChange) (adminapi.ConfigResult, error) {
		if d.Configure == nil {
			return adminapi.ConfigResult{}, errs.New(errs.Unsupported, "admin.Configure", "", "settings of this server change with a restart only")
		}
		return d.Configure(ctx, *r)
	})
	unary(d, "WhoAmI", false, func(_ context.Context, who hemera.Identity, _ *adminapi.None) (hemera.Identity, error) {
		return who, nil
	})
	unary(d, "Version", false, func(context.Context, hemera.Identity, *adminapi.None) (adminapi.VersionInfo, error) {
		return d.Version, nil
	})
}

// health answers "ok" as long as the process can answer; the first line is for programs. It calls no service, because a
// supervisor must not restart a process when a disk or a node is stalled; /metrics and `hemera fs ls` show their state.
// Strangers get the first line only.
func (d *door) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if fromStranger(r) {
		fmt.Fprintln(w, "ok")
		return
	}
	fmt.Fprintf(w, "ok\nversion %s\nrole %s\n", d.Version.Version, d.Version.Role)
}

// page lists the verbs, for people with a browser. It is plain text, so that curl shows the same. Strangers see neither
// the version nor the verbs.
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
		fmt.Fprintf(w, "%s%s\n", adminapi.Service, v)
	}
	fmt.Fprintf(w, "\n  curl -H 'Content-Type: application/json' -d '{}' http://%s%sView\n", r.Host, adminapi.Service)
}
