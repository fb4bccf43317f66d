package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/process/config"
	"hemera/words/errs"
)

// ClusterURL returns --url, else HEMERA_URL, else the default. A host, host:port and the URL of the metrics mean the same
// cluster as root://host:port, because a manager serves everything at one port.
func (e *Env) ClusterURL() string {
	u := cmp.Or(e.url, e.Getenv(config.URLVariable))
	if u == "" {
		e.misspeltOnce.Do(e.warnOfMisspeltURL)
		// The warning is printed only if the default is used: with --url the variable does not matter.
		u = URLDefault
	}
	// The URL of the metrics, as hemera up prints it.
	if rest, ok := strings.CutPrefix(u, "http://"); ok {
		u = rest
	}
	if !strings.Contains(u, "://") && !admin.IsSocketURL(u) {
		u = "root://" + u
	}
	return u
}

// DataURL returns the URL of the cluster for the data protocol. It fails with Invalid for the URL of a unix socket.
func (e *Env) DataURL() (xrootd.URL, error) {
	u := e.ClusterURL()
	if admin.IsSocketURL(u) {
		return xrootd.URL{}, Usage(errs.New(errs.Invalid, "hemera.ReadUrl", u, "the unix socket does not serve the contents of files").
			WithRemedy("name the manager's port for this command: --url root://localhost:1094"))
	}
	return xrootd.ParseURL(u)
}

// Manager returns a client of the cluster's admin API; the caller closes it. On another machine than the manager's the
// client uses the XRootD door, with the identity of data commands. It connects with the first request.
func (e *Env) Manager() (*admin.Client, error) { return e.ManagerAt(e.ClusterURL()) }

// ManagerAt does the same as Manager for a cluster with any URL.
func (e *Env) ManagerAt(url string) (*admin.Client, error) {
	at, err := xrootd.ParseURL(url)
	if err != nil {
		return admin.Dial(url) // its error explains the form of a URL
	}
	return admin.DialFrom(url, xrootdCaller{xrootd.New(xrootd.Options{Trying: e.reportRetry}), at})
}

// Ask runs f with a client of the manager, and closes the client. The context ends at Ctrl-C.
func (e *Env) Ask(c *cobra.Command, f func(context.Context, *admin.Client) error) error {
	m, err := e.Manager()
	if err != nil {
		return err
	}
	defer m.Close()
	return f(c.Context(), m)
}

// Files runs f with a client of the data protocol. The client connects to servers as f needs them and retries while they
// restart.
func (e *Env) Files(c *cobra.Command, f func(context.Context, *xrootd.Client) error) error {
	cl := xrootd.New(xrootd.Options{Trying: e.reportRetry})
	defer cl.Close()
	return f(c.Context(), cl)
}

// reportRetry tells a person, once, why the command waits: a manager that restarts is back in seconds, but a wrong
// address never answers. It is safe for concurrent use.
func (e *Env) reportRetry(cause error, atMost time.Duration) {
	e.retryOnce.Do(func() {
		text, _ := e.Explain(cause.Error())
		fmt.Fprintf(e.Err, "hemera: %s\n  trying again for at most %v; Ctrl-C stops\n", text, atMost)
	})
}

// xrootdCaller implements admin.Caller over the data protocol. at is the manager. The client pools sessions to it.
type xrootdCaller struct {
	*xrootd.Client
	at xrootd.URL
}

// Call implements admin.Caller.
func (c xrootdCaller) Call(ctx context.Context, request []byte, answer func([]byte) error) error {
	return c.Client.Call(ctx, c.at, request, answer)
}
