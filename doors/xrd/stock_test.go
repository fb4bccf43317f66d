package xrd

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/platform/auth"
	"hemera/words/errs"
)

// stock runs a stock client's command and returns its output.
func stock(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(name + " is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestStockClients(t *testing.T) {
	p := newPair(t, nil)
	url := "root://" + p.managerAddr
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	data := random(9<<20 + 5)
	if err := os.WriteFile(in, data, 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(what string) {
		t.Helper()
		got, err := os.ReadFile(out)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	stock(t, "xrdcp", "--nopbar", "--cksum", "adler32:source", in, url+"//d/f")
	stock(t, "xrdcp", "--nopbar", "-f", "--posc", in, url+"//d/f")
	stock(t, "xrdcp", "--nopbar", url+"//d/f", out)
	same("pgread")
	stock(t, "xrdcp", "--nopbar", "-f", "-S", "4", url+"//d/f", out)
	same("parallel streams")
	stock(t, "xrdcp", "--nopbar", "--tpc", "only", url+"//d/f", url+"//d/copy")
	stock(t, "xrdcp", "--nopbar", "-f", url+"//d/copy", out)
	same("third-party copy")
	stock(t, "xrdfs", url, "mv", "/d/copy", "/d/moved")
	stock(t, "xrdfs", url, "truncate", "/d/moved", "5")
	if got := stock(t, "xrdfs", url, "ls", "-l", "/d"); !strings.Contains(got, "9437189") || !strings.Contains(got, "/d/moved") {
		t.Errorf("ls -l: %s", got)
	}
	if got := stock(t, "xrdfs", url, "query", "checksum", "/d/moved"); !strings.HasPrefix(got, "adler32 ") {
		t.Errorf("query checksum: %s", got)
	}
	if got := stock(t, "xrdfs", url, "locate", "/d/f"); !strings.Contains(got, p.nodeAddr) {
		t.Errorf("locate: %s", got)
	}
	stock(t, "xrdfs", url, "rm", "/d/moved")
	stock(t, "xrdfs", url, "spaceinfo", "/")
}

// TestStockClientsSayWhyTheyAreRefused checks that stock clients print the reason.
func TestStockClientsSayWhyTheyAreRefused(t *testing.T) {
	p := newPair(t, func(o *Options) { o.Policy = closedPolicy{} })
	url := "root://" + p.managerAddr
	for _, command := range [][]string{{"xrdfs", url, "stat", "/"}, {"xrdcp", "--nopbar", url + "//f", filepath.Join(t.TempDir(), "f")}} {
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Skip(command[0] + " is not installed")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), "this network is not trusted") {
			t.Errorf("%q: %v, %s", command, err, out)
		}
	}
}

// closedPolicy refuses all clients.
type closedPolicy struct{ everybody }

func (closedPolicy) Offer(auth.Peer) ([]auth.Mechanism, error) {
	return nil, errs.New(errs.Denied, "login", "", "this network is not trusted")
}
