package cli

import (
	"context"
	"strings"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/words/errs"
)

// PathHelp is the part of --help about paths on a cluster.
const PathHelp = `
Paths on the cluster are written /exp/a or :/exp/a, both at the cluster of --url or HEMERA_URL,
or as a full URL, root://host:1094//exp/a, at any XRootD server. Where a command takes local
files too (cp), a path without : or root:// is a local one.`

// Remote parses an argument that can only be a path on a cluster. It does not connect. It fails with Invalid for an empty
// argument.
func (e *Env) Remote(arg string) (xrootd.URL, error) {
	if arg == "" { // the value of a shell variable that is not set must not mean the root of the tree
		return xrootd.URL{}, Usage(errs.New(errs.Invalid, "hemera.ReadPath", "", "it is empty").WithRemedy("the root is written /"))
	}
	if xrootd.IsRemote(arg) {
		return xrootd.ParseURL(arg)
	}
	u, err := e.DataURL()
	if err != nil {
		return u, err
	}
	return pathAt(u.Endpoint.String(), arg)
}

// pathAt returns the URL at a server of a path, which may begin with a colon.
func pathAt(server, arg string) (xrootd.URL, error) {
	return xrootd.ParseURL("root://" + server + "//" + strings.TrimLeft(strings.TrimPrefix(arg, ":"), "/"))
}

// OnManager returns the path in an argument of a command that asks the manager of --url. It refuses a URL of another
// host, whose manager would not be asked. It compares the texts of addresses, so two names of one host differ. It does
// not connect.
func (e *Env) OnManager(arg string) (string, error) {
	here := e.ClusterURL()
	if admin.IsSocketURL(here) && arg != "" {
		if xrootd.IsRemote(arg) {
			return "", Usage(errs.New(errs.Invalid, "hemera.ReadPath", arg, "it may be at another server than "+here).WithRemedy("write the path alone"))
		}
		u, err := pathAt("localhost", arg)
		return u.Path, err
	}
	u, err := e.Remote(arg)
	if err != nil {
		return "", err
	}
	at, err := xrootd.ParseURL(here)
	if err != nil {
		return "", err
	}
	if u.Addr() != at.Addr() {
		return "", Usage(errs.New(errs.Invalid, "hemera.ReadPath", u.Redacted(), "it is at another server than "+at.Addr()).
			WithRemedy("add --url root://" + u.Addr()))
	}
	return u.Path, nil
}

// Each runs f for every argument in turn, also after a failure; only an interruption ends it early. It returns the last
// error and prints those before it.
func (c *Console) Each(ctx context.Context, args []string, f func(string) error) error {
	var last error
	for _, arg := range args {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "hemera.GoOn", arg)
		}
		if err := f(arg); err != nil {
			// Run prints the last error, which is returned.
			if last != nil {
				c.Complain(last)
			}
			last = err
		}
	}
	return last
}
