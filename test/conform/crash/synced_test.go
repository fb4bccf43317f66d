package crash

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hemera/client/xrootd"
)

// TestSyncedWritesOutlastTheirHeads: all nodes are killed when some writes have an acknowledged sync. Each node keeps its own, as of the
// sync, with the pieces on other nodes made again at the commit, or drops it.
func TestSyncedWritesOutlastTheirHeads(t *testing.T) {
	c := newCluster(t)
	ctx := t.Context()
	synced, more := randomBytes(3<<20), randomBytes(1<<20)
	names := []string{"/plain", "/copies", "/dropped"}
	for i, opaque := range []string{"?hem.layout=plain", "?hem.layout=replica:2", "?hem.layout=replica:3"} {
		f, err := c.client.Open(ctx, c.parse(names[i]+opaque), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
		if err == nil {
			err = errors.Join(f.WriteAt(ctx, synced, 0), f.Sync(ctx), f.WriteAt(ctx, more, int64(len(synced))))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.nodes {
		n.Kill()
	}
	for _, n := range c.nodes {
		n.Start()
	}
	c.AwaitOnline(nodes)
	c.Await("the writes are listed as kept", func() bool {
		out, _ := c.Admin("open", "ls")
		return strings.Count(out, "kept") >= len(names)
	})
	for i, name := range names {
		verb := []string{"open", "commit", name}
		if i == 2 {
			verb = []string{"open", "drop", name, "--yes"}
		}
		if out, err := c.Admin(verb...); err != nil {
			c.Logs()
			t.Fatalf("%v: %v: %s", verb, err, out)
		}
		if there := c.whole(name, bytes.Clone(synced)); there != (i < 2) {
			t.Errorf("%s is there: %t", name, there)
		}
	}
}
