package admin

import (
	"log/slog"
	"net/http"

	"connectrpc.com/connect"

	"hemera/platform/contain"
	"hemera/platform/fairshare"
)

// NewHandler makes the door's handler. It is safe for concurrent use. All verbs are registered here; later the handler
// does not change.
func NewHandler(s Services, authorize Authorizer) http.Handler {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Turns == nil {
		s.Turns = fairshare.New()
	}
	if s.Panics == nil {
		s.Panics = contain.New(s.Log)
	}
	d := &door{Services: s, mux: http.NewServeMux(), authorize: authorize, failures: connect.NewErrorWriter(), questions: fairshare.New()}
	serveCluster(d)
	serveTrust(d)
	serveMaint(d)
	serveObserve(d)
	serveWrites(d)
	serveConvert(d)
	serveQuota(d)
	serveRecycle(d)
	serveTape(d)
	serveTapeKeys(d)
	serveStaging(d)
	serveStatus(d)
	serveNetwork(d)
	serveNames(d)
	serveAttributes(d)
	serveWalk(d)
	serveBackup(d)
	serveRebuild(d)
	serveAbout(d)
	serveBenchmark(d)
	serveProfiles(d)
	d.mux.Handle("GET /metrics", d.metrics())
	d.mux.HandleFunc("GET /healthz", d.health)
	d.mux.HandleFunc("GET /{$}", d.page)
	return d.traced(d.mux)
}
