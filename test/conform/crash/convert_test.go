package crash

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hemera/client/xrootd"
)

// TestConversionSurvivesKills: a tree of files of many sizes is converted while the manager, and then each node, is killed
// and started again. The request goes on by itself, every file is as it was, and nothing else is left on the disks.
func TestConversionSurvivesKills(t *testing.T) {
	c := newCluster(t)
	ctx := t.Context()
	sizes := map[string]int{}
	for i := range 150 {
		sizes[fmt.Sprintf("/tree/d%d/f%d", i%7, i)] = []int{0, 1, 4096, 65536, 300_001, 2 << 20}[i%6] + i
	}
	sizes["/tree/large"] = 64 << 20
	data := randomBytes(64<<20 + 1)
	for path, size := range sizes {
		f, err := c.client.Open(ctx, c.parse(path), xrootd.OpenOptions{Write: true, Create: true, Parents: true, Mode: 0o644})
		if err == nil {
			err = errors.Join(f.WriteAt(ctx, data[:size], 0), f.Close(ctx))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.Admin("convert", "/tree", "-r", "--layout", "replica:3", "--checksum", "sha256"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	converted := regexp.MustCompile(`filesdone=(\d+)`)
	count := func() string {
		out, _ := c.Admin("-m", "convert", "ls")
		if m := converted.FindStringSubmatch(out); m != nil {
			return m[1]
		}
		return ""
	}
	for _, s := range c.Servers() {
		// Something happens between two kills, wherever the conversion is by then.
		last := count()
		c.Await("the conversion goes on", func() bool {
			now := count()
			return now != "" && (now != last || now == fmt.Sprint(len(sizes)))
		})
		s.Kill()
		s.Start()
	}
	c.AwaitOnline(nodes)
	// Files that met a killed node are tried again after a while; another request does not wait.
	if out, err := c.Admin("convert", "stop", "1"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := c.Admin("convert", "/tree", "-r", "--layout", "replica:3", "--checksum", "sha256"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.Await("the conversion ends", func() bool {
		out, _ := c.Admin("-m", "convert", "ls")
		return strings.Count(out, "state=stopped") == 1 && strings.Count(out, "state=done") == 1
	})
	out, err := c.Admin("-m", "convert", "ls")
	if err != nil || !strings.Contains(out[strings.Index(out, "\n"):], " skipped=0 failed=0 ") {
		c.Logs()
		t.Fatalf("%s, %v", out, err)
	}
	for path, size := range sizes {
		if !c.whole(path, data[:size]) {
			t.Errorf("%s is not what was written", path)
		}
		var info string
		c.Await(path+" is healthy", func() bool { // a piece that a kill has cost is repaired
			info, err = c.Admin("-m", "file", "info", path)
			return err != nil || strings.Contains(info, "status=healthy")
		})
		if err != nil || !strings.Contains(info, "nstripes=3") || !strings.Contains(info, "xstype=sha256") {
			t.Errorf("%s: %s, %v", path, info, err)
		}
	}
	if out, err := c.Admin("ns", "check"); err != nil {
		t.Errorf("%s, %v", out, err)
	}
}
