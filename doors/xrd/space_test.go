package xrd

import (
	"context"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestSpace queries the space of every kind of path, with a quota and without.
func TestSpace(t *testing.T) {
	p := newPair(t, manager(func(o *ManagerOptions) {
		o.Space = func(_ context.Context, who hemera.Identity, path string) (hemera.PathRoom, error) {
			switch {
			case who.UID != 1000:
				t.Errorf("asked for %+v", who)
			case path == "/closed":
				return hemera.PathRoom{}, errs.New(errs.Denied, "space", path, "")
			case hemera.PlainPath(path) == "/exp/alice":
				return hemera.PathRoom{Name: "default", Total: 100 << 20, Free: 25 << 20, Used: 75 << 20, LargestFree: 25 << 20, Disks: 2, Quota: 100 << 20}, nil
			}
			return hemera.PathRoom{Name: hemera.SpaceName("default" + path), Total: 1000, Free: 400, Used: 600, LargestFree: 300, Disks: 2}, nil
		}
	}))
	c := dial(t, p.managerAddr)
	for arg, want := range map[string]string{
		"/exp/alice":           "oss.cgroup=default&oss.space=104857600&oss.free=26214400&oss.maxf=26214400&oss.used=78643200&oss.quota=104857600",
		"/exp//alice/?a=b\x00": "oss.cgroup=default&oss.space=104857600&oss.free=26214400&oss.maxf=26214400&oss.used=78643200&oss.quota=104857600",
		"/":                    "oss.cgroup=default/&oss.space=1000&oss.free=400&oss.maxf=300&oss.used=600&oss.quota=-1",
		"default":              "oss.cgroup=default&oss.space=1000&oss.free=400&oss.maxf=300&oss.used=600&oss.quota=-1",
		"":                     "oss.cgroup=default&oss.space=1000&oss.free=400&oss.maxf=300&oss.used=600&oss.quota=-1",
	} {
		if got := wire.Text(c.must(t, wire.Query{Kind: wire.QuerySpace}, arg)); got != want {
			t.Errorf("%q: %s", arg, got)
		}
	}
	if got := wire.Text(c.must(t, wire.Stat{Options: wire.StatVFS}, "/exp/alice")); got != "2 25 75 0 0 0" {
		t.Errorf("statvfs: %q", got)
	}
	c.refused(t, wire.Query{Kind: wire.QuerySpace}, "/closed", wire.NotAuthorized)
	if status, _, err := dial(t, p.nodeAddr).call(wire.Query{Kind: wire.QuerySpace}, []byte("/")); err != nil || status != wire.StatusRedirect {
		t.Errorf("a node answers with status %d, %v", status, err)
	}
}
