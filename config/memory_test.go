package config

import (
	"errors"
	"testing"

	"hemera/errs"
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
