package replkv_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"hemera/platform/kv"
	"hemera/platform/kv/journal/etcdjournal"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/etcd"
)

// pebble returns Pebble in a directory.
func pebble(t testing.TB, dir string, unsynced bool) kv.Store {
	t.Helper()
	s, err := pebblekv.Open(dir, pebblekv.Options{Unsynced: unsynced})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformanceOnEtcd runs the suite of engines over Pebble and one or three members of etcd.
func TestConformanceOnEtcd(t *testing.T) {
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			members, n := etcd.Cluster(t, count), 0
			kvtest.Run(t, func(t *testing.T) kv.Store {
				n++
				j := members[n%count].Journal(etcdjournal.Options{Prefix: fmt.Sprintf("test/%d/", n)})
				if err := j.Create(t.Context(), 0); err != nil {
					t.Fatal(err)
				}
				return open(t, pebble(t, filepath.Join(t.TempDir(), "db"), true), j)
			})
		})
	}
}
