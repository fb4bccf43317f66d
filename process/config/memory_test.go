package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hemera/words/errs"
)

func TestTheCacheFollowsTheMachine(t *testing.T) {
	for _, c := range []struct {
		memory int64
		file   string
		want   Bytes
		shown  string
	}{
		{0, "", 256 << 20, "256MiB"},
		{512 << 20, "", 256 << 20, "256MiB"},
		{16<<30 + 12345, "", 4 << 30, "4GiB"},
		{16 << 30, "[cache]\nnamespace = '300MiB'", 300 << 20, "300MiB"},
		{16 << 30, "[cache]\nnamespace = '0B'", 4 << 30, "4GiB"},
	} {
		from := sources(t, c.file, nil)
		from.Memory = c.memory
		l, err := Load(from)
		if err != nil {
			t.Fatal(err)
		}
		if v := l.value("cache.namespace"); l.Cache.Namespace != c.want || v.Value != c.shown {
			t.Errorf("%d bytes of memory and %q: %s, shown as %s", c.memory, c.file, l.Cache.Namespace, v.Value)
		}
	}
	_, err := Load(sources(t, "[cache]\nnamespace = '255MiB'", nil))
	if !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("a cache that is too small: %v", err)
	}
	if m := MachineMemory(); m < 1<<26 {
		t.Errorf("this machine has %d bytes", m)
	}
}

// A service manager limits a process in its own group, not in the one at the top.
func TestTheControlGroupCounts(t *testing.T) {
	const total = 16 << 30
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none": {nil, total},
		"a service": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/hemera.service\n",
			"sys/fs/cgroup/system.slice/hemera.service/memory.max": "4294967296\n", "sys/fs/cgroup/system.slice/memory.max": "max\n",
		}, 4 << 30},
		"the slice around it": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/hemera.service\n",
			"sys/fs/cgroup/system.slice/hemera.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "1073741824\n",
		}, 1 << 30},
		"a container":              {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 2 << 30},
		"outside of the container": {map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 2 << 30},
		"more than there is":       {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n"}, total},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:devices:/x\n4:cpu,memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3221225472\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 3 << 30},
		"nonsense": {map[string]string{"proc/self/cgroup": "0:\n::\n", "sys/fs/cgroup/memory.max": "-5\n"}, total},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := groupLimit(root, total); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
