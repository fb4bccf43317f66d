package daemon

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"hemera/doors/admin"
	"hemera/platform/contain"
	"hemera/words/errs"
)

// web is who may ask what of the HTTP door, before it is known who it is.
type web struct {
	metrics []netip.Prefix // networks that may read /metrics
	hosts   []string       // names of this server
}

// webRules are the rules in force. They change as a whole.
type webRules struct{ atomic.Pointer[web] }

// newWebRules begins with rules.
func newWebRules(first web) *webRules {
	r := new(webRules)
	r.Store(&first)
	return r
}

// guardWeb applies the rules of HTTP. A web page can make a browser believe that a foreign name is this machine (DNS
// rebinding); the browser then sends that name, so requests to names that are not the server's are refused. Requests
// over the unix socket pass: no browser opens it. Strangers may ask for /healthz only.
// /healthz answers under any name: load balancers and supervisors call by names that nobody configured, and it
// tells nothing.
//
// The rules may change: each request meets those of its time.
func guardWeb(current *webRules, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rules := current.Load()
		_, overSocket := processOf(r)
		if r.URL.Path != "/healthz" && !overSocket && !rules.answersTo(r.Host) {
			refusal := errs.New(errs.Denied, "daemon.Answer", r.RemoteAddr, "this server is not called "+admin.Quoted(r.Host)).
				WithRemedy("use its address, or list the name in http.hosts")
			http.Error(w, errs.Plain(refusal.Error())+"\n  what to do: "+refusal.Remedy, http.StatusMisdirectedRequest)
			return
		}
		if !mayScrape(rules.metrics, r) {
			r = admin.FromStranger(r)
		}
		guardMetrics(rules.metrics, next).ServeHTTP(w, r)
	})
}

// containWeb counts and logs panics of requests that next does not contain itself. The client's connection ends.
func containWeb(panics *contain.Panics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v != http.ErrAbortHandler {
				_ = panics.Note("daemon.Answer", r.URL.Path, v)
			}
			panic(http.ErrAbortHandler) // which ends the connection, and is not logged
		}()
		next.ServeHTTP(w, r)
	})
}

// answersTo reports whether a Host header names this server: by address, as localhost, or by one of its names.
// Programs that send none are no browsers.
func (rules web) answersTo(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	// An IPv6 address has brackets, and a fully qualified name may end with a dot.
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	// DNS rebinding needs a name, so an address is always right.
	if _, err := netip.ParseAddr(host); err == nil || host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	return slices.ContainsFunc(rules.hosts, func(name string) bool { return strings.EqualFold(host, name) })
}

// namesOf are the names that a process has without being told: the one that others reach it by, and the machine's.
// Names are compared without regard to case, and not looked up.
func namesOf(addr string, configured []string) []string {
	names := append(slices.Clone(configured), hostOf(addr))
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return names
}
