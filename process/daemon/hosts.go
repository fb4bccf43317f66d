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

// web has the rules of the HTTP door that apply before the caller is identified.
type web struct {
	metrics []netip.Prefix // networks that may read /metrics
	hosts   []string       // names of this server
}

// webRules has the rules in force. They change as a whole.
type webRules struct{ atomic.Pointer[web] }

// newWebRules returns rules that begin with first.
func newWebRules(first web) *webRules {
	r := new(webRules)
	r.Store(&first)
	return r
}

// guardWeb applies the rules of HTTP. With DNS rebinding, a web page can make a browser connect to this machine under a
// foreign name; the browser then sends that name, so requests to names that are not the server's are refused. Requests
// over the unix socket pass, because browsers do not open it. /healthz answers under any name: load balancers and
// supervisors may use names that are not configured, and the answer reveals nothing.
//
// The rules may change: each request uses those of its time.
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

// containWeb counts and logs panics of requests that next does not contain itself. The client's connection is closed.
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
			panic(http.ErrAbortHandler) // ends the connection, and is not logged
		}()
		next.ServeHTTP(w, r)
	})
}

// answersTo reports whether a Host header names this server: by address, as localhost, or by one of its names. Programs
// that send none are not browsers.
func (rules web) answersTo(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	// An IPv6 address has brackets, and a fully qualified name may end with a dot.
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	// DNS rebinding needs a name, so an address always passes.
	if _, err := netip.ParseAddr(host); err == nil || host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	return slices.ContainsFunc(rules.hosts, func(name string) bool { return strings.EqualFold(host, name) })
}

// namesOf returns the names of a process: the configured ones, the one by which others reach it, and the machine's. Names
// are compared without regard to case, and not looked up.
func namesOf(addr string, configured []string) []string {
	names := append(slices.Clone(configured), hostOf(addr))
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return names
}
