package xrd

import (
	"testing"

	"hemera"
)

func TestPatience(t *testing.T) {
	g := hemera.Grant{Addr: "a:1", Permit: hemera.NewPermit(hemera.Capability{Targets: []hemera.Target{{Addr: "a:1", Disk: 1}, {Addr: "a:1", Disk: 2}}}, nil)}
	if patience(&g, hemera.AccessRead) != triesOnly {
		t.Error("there is nothing else to read, and the client goes away soon")
	}
	if patience(&g, hemera.AccessCreate) != triesWrite || patience(&g, hemera.AccessUpdate) != triesWrite {
		t.Error("a write is not waited for as long as it should")
	}
	g.Permit.Targets[1].Addr = "b:1"
	if patience(&g, hemera.AccessRead) != triesElse {
		t.Error("there is another node to read from, and the client waits")
	}
}
