package xrd

import (
	"os"
	"os/exec"
	"testing"
)

// TestWithoutLoop runs all tests of the package again without an event loop.
func TestWithoutLoop(t *testing.T) {
	if *noLoop {
		return
	}
	if testing.Short() {
		t.Skip("runs all tests again")
	}
	out, err := exec.Command(os.Args[0], "-test.run=.", "-noloop").CombinedOutput()
	if err != nil {
		t.Errorf("without an event loop: %v\n%s", err, out)
	}
}

// needsLoop skips a test of the event loop.
func needsLoop(t *testing.T, why string) {
	t.Helper()
	if *noLoop {
		t.Skip("without an event loop: " + why)
	}
}
