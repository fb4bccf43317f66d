package replkv_test

import (
	"fmt"
	"testing"
	"time"
)

// TestKilledProcesses kills the process of the manager that writes, twice, then all three at once. What was acknowledged is there, and the stores are
// equal, once all run again.
func TestKilledProcesses(t *testing.T) {
	all, _ := managers(t, 50*time.Millisecond)
	for _, p := range all {
		p.ask(t, "auto")
	}
	var acknowledged uint64
	writer, _ := firstOf(t, all, nil)
	for range 2 {
		time.Sleep(200 * time.Millisecond) // under load
		dead := all[writer]
		dead.kill()
		acknowledged = max(acknowledged, drained(dead))
		next, first := firstOf(t, all, dead)
		if first.seq <= acknowledged {
			t.Errorf("%d was acknowledged, and the next writer begins with %d", acknowledged, first.seq)
		}
		all[writer] = startProcess(t, dead.options)
		all[writer].ask(t, "auto")
		writer = next
	}
	time.Sleep(200 * time.Millisecond)
	for _, p := range all {
		p.kill()
		acknowledged = max(acknowledged, drained(p))
	}
	for i, p := range all {
		all[i] = startProcess(t, p.options)
	}
	leaderOf(t, all).ask(t, "acquire") // it has all that is committed
	var seq, sum uint64
	eventually(t, "the stores do not become equal", func() bool {
		equal := true
		for i, p := range all {
			var at, digest uint64
			if _, err := fmt.Sscanf(p.ask(t, "digest"), "ok %d %d", &at, &digest); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				seq, sum = at, digest
			}
			equal = equal && at == seq && digest == sum
		}
		return equal
	})
	if seq < acknowledged || acknowledged == 0 {
		t.Errorf("%d were acknowledged, and the stores have %d", acknowledged, seq)
	}
}
