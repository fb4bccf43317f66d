package observe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hemera/test/fixture/tools"
	"hemera/words/errs"
)

// noVersion acts as a cluster that refuses strangers its version.
func noVersion(context.Context) (string, error) { return "", errs.Denied }

// lossVariable says, in a child of the test, which share of packets its network loses: one of so many, 0 for none.
const lossVariable = "HEMERA_TEST_DOCTOR_LOSS"

// A link that loses one packet in thirty is named; the same link without loss is not. The link is the loopback of a network namespace.
func TestALossyLinkIsNamed(t *testing.T) {
	tools.Need(t, "nft", "ip")
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, one := range []string{"0", "30"} {
		c := exec.Command(os.Args[0], "-test.run=^TestLossyChild$", "-test.v")
		c.Env = append(os.Environ(), lossVariable+"="+one)
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := c.CombinedOutput()
		switch {
		case strings.Contains(string(out), "--- SKIP"):
			t.Skip(string(out))
		case err != nil:
			t.Errorf("one of %s: %v\n%s", one, err, out)
		}
	}
}

// TestLossyChild runs in a network namespace of its own, as a child of TestALossyLinkIsNamed.
func TestLossyChild(t *testing.T) {
	one := os.Getenv(lossVariable)
	if one == "" {
		t.Skip("a part of TestALossyLinkIsNamed")
	}
	if out, err := run(t, "ip", "link", "set", "lo", "up"); err != nil {
		t.Fatal(out)
	}
	var want []string
	if one != "0" {
		want = []string{"net-loss"}
		for _, rule := range []string{"add table inet t", "add chain inet t i { type filter hook input priority 0; }", "add rule inet t i numgen random mod " + one + " == 0 drop"} {
			if out, err := run(t, "nft", rule); err != nil {
				t.Skipf("nft %s: %s", rule, out)
			}
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	// A machine with other work sends too few packets in the usual time for three of them to be lost. A finding that is not wanted
	// fails at once.
	for d := 1500 * time.Millisecond; ; d *= 2 {
		found := path(t, strings.TrimPrefix(server.URL, "http://"), d)
		if slices.Equal(found, want) {
			return
		}
		if len(found) > 0 || d > time.Minute {
			t.Fatalf("found %v in %s, want %v", found, d, want)
		}
	}
}
