package pebblekv_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/effort"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.Store {
		s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestUnsynced: without a sync for each batch the contract is the same, and a ticket still says what is durable.
func TestUnsynced(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.Store {
		s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: vfs.NewMem(), Unsynced: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// failingDisks matches the tests in which an Open fails. With Pebble's own scheduler that can end the process
// (DESIGN.md).
const failingDisks = "Fail|FullDisk|WithoutManifest|DamagedTable|CompactionsHope|EachFileLost"

// TestWithPebbleScheduler runs the tests of the package once more, with Pebble's own scheduler: the contract is the same.
func TestWithPebbleScheduler(t *testing.T) {
	if *pebblekv.PebbleScheduler {
		return
	}
	if testing.Short() || effort.Raced {
		t.Skip("runs most tests again, whose goroutines meet in the same ways")
	}
	out, err := exec.Command(os.Args[0], "-test.skip="+failingDisks, "-pebblescheduler").CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs the tests, and the system cannot start them again without it")
	}
	if err != nil {
		t.Errorf("with Pebble's scheduler: %v\n%s", err, out)
	}
}
