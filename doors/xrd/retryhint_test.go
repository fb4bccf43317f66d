package xrd

import (
	"testing"

	"hemera"
)

func TestPatience(t *testing.T) {
	g := hemera.Grant{Addr: "a:1", Permit: hemera.NewPermit(hemera.Capability{Targets: []hemera.Target{{Addr: "a:1", Disk: 1}, {Addr: "a:1", Disk: 2}}}, nil)}
	if retryHint(&g, hemera.AccessRead) != retryLast {
		t.Error("there is nothing else to read, and the client goes away soon")
	}
	if retryHint(&g, hemera.AccessCreate) != retryWrite || retryHint(&g, hemera.AccessUpdate) != retryWrite {
		t.Error("a write is not waited for as long as it should")
	}
	g.Permit.Targets[1].Addr = "b:1"
	if retryHint(&g, hemera.AccessRead) != retryElsewhere {
		t.Error("there is another node to read from, and the client waits")
	}
}
