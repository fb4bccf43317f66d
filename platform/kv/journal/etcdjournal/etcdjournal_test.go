package etcdjournal_test

import (
	"fmt"
	"testing"

	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/etcdjournal"
	"hemera/platform/kv/journal/journaltest"
	"hemera/test/fixture/etcd"
)

// TestConformance runs the suite over one member, and over each of three in turn.
func TestConformance(t *testing.T) {
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			members, n := etcd.Cluster(t, count), 0
			journaltest.Run(t, func(t *testing.T) journal.Journal {
				n++
				return members[n%count].Journal(etcdjournal.Options{Prefix: fmt.Sprintf("test/%d/", n)})
			})
		})
	}
}
