package crash

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/client/xrootd"
)

// sealed counts the sealed pieces of the disks.
func (c *cluster) sealed() (count int) {
	for i := range nodes {
		names, _ := filepath.Glob(filepath.Join(c.disk(i), "*", "*"))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && filepath.Base(filepath.Dir(name)) != "pending" {
				count++
			}
		}
	}
	return count
}

// TestHeadDiesBetweenSealAndCommit kills the nodes when the pieces are sealed and the commit was asked for at a
// manager that stands still, which then dies too, or goes on and may find the request. The file is whole or not
// there; nothing else is wrong, and its name can be written.
func TestHeadDiesBetweenSealAndCommit(t *testing.T) {
	c := newCluster(t)
	ctx := t.Context()
	for name, one := range map[string]struct {
		size    int
		forgets bool
	}{
		"small": {10_000, false}, "large": {4 << 20, false}, "smallforgotten": {10_000, true}, "largeforgotten": {4 << 20, true},
	} {
		data := randomBytes(one.size)
		u := c.parse("/" + name)
		f, err := c.client.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: int64(len(data))})
		if err == nil {
			err = f.WriteAt(ctx, data, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := c.sealed()
		c.manager.Freeze()
		closed := make(chan error, 1)
		go func() { closed <- f.Close(ctx) }()
		c.Await("the pieces sealed", func() bool { return c.sealed() == before+2 })
		for _, n := range c.nodes {
			n.Kill()
		}
		if one.forgets {
			c.manager.Kill()
			c.manager.Start()
		} else {
			c.manager.Thaw()
		}
		for _, n := range c.nodes {
			n.Start()
		}
		c.AwaitOnline(nodes)
		err = <-closed
		there := c.whole("/"+name, data)
		t.Logf("%s: the close ended with %v; the file is there: %t", name, err, there)
		if err == nil && !there || one.forgets && there {
			c.Logs()
			t.Errorf("%s: is there: %t, after a close with %v", name, there, err)
		}
		if !there {
			g, err := c.client.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Force: true, Mode: 0o644, Size: int64(len(data))})
			if err == nil {
				err = errors.Join(g.WriteAt(ctx, data, 0), g.Close(ctx))
			}
			if err != nil || !c.whole("/"+name, data) {
				t.Errorf("%s: written again: %v", name, err)
			}
		}
	}
	out, _ := c.Admin("fsck", "report")
	for _, bad := range []string{"missing", "lost", "size_mismatch"} {
		if strings.Contains(out, bad) {
			t.Errorf("fsck report:\n%s", out)
		}
	}
}
