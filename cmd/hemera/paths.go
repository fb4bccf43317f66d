package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	gopath "path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/platform/xrootd"
)

// pathHelp is the rule of [env.remote] and [env.place], for --help.
const pathHelp = `
Paths on the cluster are written /exp/a or :/exp/a, both at the cluster of --url or HEMERA_URL,
or as a full URL, root://host:1094//exp/a, at any XRootD server. Where a command takes local
files too (cp), a path without : or root:// is a local one.`

// remote is where an argument points that can only be a path on a cluster.
func (e *env) remote(arg string) (xrootd.URL, error) {
	if arg == "" { // what a variable that is not set becomes: not the root with all that is below
		return xrootd.URL{}, &usageError{errs.New(errs.Invalid, "read path", "", "it is empty").WithRemedy("the root is written /")}
	}
	if xrootd.IsRemote(arg) {
		return xrootd.ParseURL(arg)
	}
	u, err := e.dataURL()
	if err != nil {
		return u, err
	}
	return pathAt(u.Endpoint.String(), arg)
}

// pathAt is a path of a server, written with or without the colon.
func pathAt(server, arg string) (xrootd.URL, error) {
	return xrootd.ParseURL("root://" + server + "//" + strings.TrimLeft(strings.TrimPrefix(arg, ":"), "/"))
}

// dataURL is the cluster's, for the data protocol.
func (e *env) dataURL() (xrootd.URL, error) {
	u := e.clusterURL()
	if admin.IsSocketURL(u) {
		return xrootd.URL{}, &usageError{errs.New(errs.Invalid, "read url", u, "files are not read and written over the unix socket").
			WithRemedy("name the manager's port for this command: --url root://localhost:1094")}
	}
	return xrootd.ParseURL(u)
}

// onManager is the path an argument of a command means that asks the manager of --url. A URL of
// another host is refused: the wrong manager would answer.
func (e *env) onManager(arg string) (string, error) {
	if here := e.clusterURL(); admin.IsSocketURL(here) && arg != "" {
		if xrootd.IsRemote(arg) {
			return "", &usageError{errs.New(errs.Invalid, "read path", arg, "it may be at another server than "+here).WithRemedy("write the path alone")}
		}
		u, err := pathAt("localhost", arg)
		return u.Path, err
	}
	u, err := e.remote(arg)
	if err != nil {
		return "", err
	}
	here, err := xrootd.ParseURL(e.clusterURL())
	if err != nil {
		return "", err
	}
	if u.Addr() != here.Addr() {
		return "", &usageError{errs.New(errs.Invalid, "read path", u.Redacted(), "it is at another server than "+here.Addr()).
			WithRemedy("add --url root://" + u.Addr())}
	}
	return u.Path, nil
}

// files runs f with a client of the data protocol.
func (e *env) files(c *cobra.Command, f func(context.Context, *xrootd.Client) error) error {
	cl := xrootd.New(xrootd.Options{Trying: e.trying})
	defer cl.Close()
	return f(c.Context(), cl)
}

// trying tells a person why nothing happens: a manager that restarts is back in seconds, a wrong
// address never.
func (e *env) trying(cause error, atMost time.Duration) {
	e.told.Do(func() {
		text, _ := e.plain(cause.Error())
		fmt.Fprintf(e.Err, "hemera: %s\n  trying again for at most %v; Ctrl-C stops\n", text, atMost)
	})
}

// each runs f for all arguments; one that fails does not keep the others from their turn, unless the
// command is interrupted. The last error is returned, those before it are told at once.
func (e *env) each(ctx context.Context, args []string, f func(string) error) error {
	var last error
	for _, arg := range args {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "go on", arg)
		}
		if err := f(arg); err != nil {
			if last != nil {
				e.complain(last)
			}
			last = err
		}
	}
	return last
}

// errEnough ends a listing early.
var errEnough = errors.New("enough")

// completionsMax bounds what a shell is offered.
const completionsMax = 500

// completePaths offers the entries of the directory a word is in.
func (e *env) completePaths(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	none := cobra.ShellCompDirectiveNoFileComp
	mark := ""
	if strings.HasPrefix(word, ":") {
		mark, word = ":", word[1:]
	}
	if word == "" {
		word = "/"
	}
	if !strings.HasPrefix(word, "/") {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(e.Completion, completionTimeout))
	defer cancel()
	dir, prefix := gopath.Split(word)
	var out []cobra.Completion
	_ = e.listNames(ctx, gopath.Clean(dir), func(name string, isDir bool) error {
		if !strings.HasPrefix(name, prefix) || output.Visible(name) != name { // shells print words as they are
			return nil
		}
		name = mark + dir + name
		if isDir {
			name += "/"
		}
		if out = append(out, name); len(out) == completionsMax {
			return errEnough
		}
		return nil
	})
	return out, none | cobra.ShellCompDirectiveNoSpace
}

// listNames lists by the admin API, and where that is not to be had by the data protocol.
func (e *env) listNames(ctx context.Context, dir string, visit func(name string, isDir bool) error) error {
	m, err := e.manager()
	if err != nil {
		return err
	}
	defer m.Close()
	err = m.List(ctx, hemera.Identity{}, dir, func(en hemera.Entry) error { return visit(en.Name, en.IsDir()) })
	if err == nil || errors.Is(err, errEnough) || errors.Is(err, errs.NotFound) {
		return err
	}
	u, err := e.remote(dir)
	if err != nil {
		return err
	}
	cl := xrootd.New(xrootd.Options{})
	defer cl.Close()
	return cl.List(ctx, u, func(i xrootd.Info) error { return visit(i.Name, i.IsDir()) })
}
