package bench

import (
	"context"
	"path"
	"strings"
	"time"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/measure/result"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// layoutWait bounds the questions about the layout: servers other than managers may not answer them.
const layoutWait = 5 * time.Second

// policies is the part of a manager that decides about new files.
type policies interface {
	Stat(ctx context.Context, who hemera.Identity, path string) (hemera.Entry, error)
	Spaces(ctx context.Context) ([]hemera.Space, error)
}

// learnLayout asks a cluster for the layout of files without a chosen one, if a peak is to be computed. Without an answer
// the result states that each byte counts as stored once.
func (l *ioLevel) learnLayout(ctx context.Context, rec *result.Recorder) {
	if len(l.o.Layouts) > 0 || len(l.o.Nodes) == 0 || l.e == nil || !xrootd.IsRemote(l.o.Targets[0]) {
		return
	}
	layout, err := l.askLayout(ctx, l.o.Targets[0])
	if err != nil {
		rec.Note("How the server stores a file is not known (%s): the theoretical peak counts each byte as stored once. --layout names a layout.", errs.Reason(err, ""))
		return
	}
	l.o.Layout = layout
}

// askLayout asks the manager of a target.
func (l *ioLevel) askLayout(ctx context.Context, target string) (hemera.Layout, error) {
	u, err := xrootd.ParseURL(target)
	if err != nil {
		return hemera.Layout{}, err
	}
	m, err := l.e.ManagerAt(target)
	if err != nil {
		return hemera.Layout{}, err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(ctx, layoutWait)
	defer cancel()
	asked := struct {
		admin.Names
		admin.Cluster
	}{m.Names, m.Cluster}
	return layoutBelow(ctx, asked, path.Clean("/"+u.Path))
}

// layoutBelow returns the layout of new files in a new directory below dir, for a client that requests none.
func layoutBelow(ctx context.Context, m policies, dir string) (hemera.Layout, error) {
	attrs := policy.Attributes{Sys: map[string][]byte{}}
	// Attributes of the nearest directory count. user.* attributes count only in their own directory, and the run makes a
	// new one.
	for at := dir; ; at = path.Dir(at) {
		entry, err := m.Stat(ctx, hemera.Identity{}, at)
		if err != nil {
			return hemera.Layout{}, err
		}
		for name, value := range entry.Xattrs {
			if _, nearer := attrs.Sys[name]; !nearer && strings.HasPrefix(name, "sys.") {
				attrs.Sys[name] = value
			}
		}
		if at == "/" {
			break
		}
	}
	name, err := policy.Space(attrs, hemera.Wish{}, hemera.Identity{})
	if err != nil {
		return hemera.Layout{}, err
	}
	spaces, err := m.Spaces(ctx)
	if err != nil {
		return hemera.Layout{}, err
	}
	space, ok := (&hemera.View{Spaces: spaces}).Space(name)
	if !ok {
		return hemera.Layout{}, errs.New(errs.NotFound, "hemera.Bench", string(name), "there is no such space")
	}
	// The function that the manager calls for a new file.
	p, err := policy.Decide(attrs, space, hemera.Wish{}, hemera.Identity{})
	return p.Layout, err
}
