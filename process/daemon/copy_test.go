package daemon

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/words/hemera"
)

// TestThirdPartyCopiesOfAReplicatedFile: the destination must look for the source at the node where the client announced
// it, and not at another node with the file.
func TestThirdPartyCopiesOfAReplicatedFile(t *testing.T) {
	url := runUp(t, UpOptions{Nodes: 3, Disks: 3, Manager: ManagerOptions{
		Space: hemera.Space{Policy: hemera.Policy{
			Layout: hemera.Replica(3), Checksum: hemera.Adler32, Sync: true,
		}},
	}})
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c := xrootd.New(xrootd.Options{})
	defer c.Close()
	if _, err := copy.Run(t.Context(), c, []string{data}, url+"/source", copy.Options{}); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		_, err := copy.Run(t.Context(), c, []string{url + "/source"}, fmt.Sprintf("%s/copy%d", url, i), copy.Options{TPC: copy.TPCOnly})
		if err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
	}
}

// runUp runs a cluster on loopback until the test ends, and returns its URL.
func runUp(t *testing.T, o UpOptions) string {
	t.Helper()
	o.Manager.Dir, o.Manager.Listen, o.Manager.CacheBytes = cmp.Or(o.Manager.Dir, t.TempDir()), "127.0.0.1:0", 1<<28
	o.Manager.Log = keptLog(t)
	u, err := OpenUp(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running(t, u))
	return "root://" + u.Manager.Addr + "/"
}
