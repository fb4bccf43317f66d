package translate

import (
	"testing"

	"hemera/words/hemera"
)

func TestRetryHint(t *testing.T) {
	g := hemera.Grant{Addr: "a:1", Permit: hemera.NewPermit(hemera.Capability{Targets: []hemera.Target{{Addr: "a:1", Disk: 1}, {Addr: "a:1", Disk: 2}}}, nil)}
	if RetryHint(&g, hemera.AccessRead) != RetryLast {
		t.Error("there is nothing else to read, and the client goes away soon")
	}
	if RetryHint(&g, hemera.AccessCreate) != RetryWrite || RetryHint(&g, hemera.AccessUpdate) != RetryWrite {
		t.Error("a write is not waited for as long as it should")
	}
	g.Permit.Targets[1].Addr = "b:1"
	if RetryHint(&g, hemera.AccessRead) != RetryElsewhere {
		t.Error("there is another node to read from, and the client waits")
	}
}
