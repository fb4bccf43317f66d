package admin

import (
	"net/http"
	"net/http/pprof"
)

// serveProfiles serves Go's profiles to admins:
//
//	go tool pprof http://localhost:1094/debug/pprof/profile?seconds=10
//
// Profiles show names of functions and, in /trace, timing of requests, so they are guarded like verbs. The profile
// cmdline is not served, because a flag may have a join token.
func serveProfiles(d *door) {
	for path, h := range map[string]http.HandlerFunc{
		"GET /debug/pprof/": pprof.Index, "GET /debug/pprof/profile": pprof.Profile, "GET /debug/pprof/trace": pprof.Trace,
		"GET /debug/pprof/symbol": pprof.Symbol,
	} {
		d.mux.Handle(path, d.guard(true, h))
	}
}
