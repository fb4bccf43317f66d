package xrd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
)

// TestStockClientsOfHeldOpens checks that stock clients understand each late answer to an open: a wait and then a redirect, and an error.
func TestStockClientsOfHeldOpens(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for how, command := range map[string]func(url string) []string{
		"read":     func(url string) []string { return []string{"xrdfs", url, "cat", "/f"} },
		"write":    func(url string) []string { return []string{"xrdcp", "--nopbar", "-f", in, url + "//new"} },
		"truncate": func(url string) []string { return []string{"xrdfs", url, "truncate", "/f", "3"} },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p, files := newReturningPair(t, func(o *Options) { o.Limits.HoldTime = 100 * time.Millisecond })
			run := command("root://" + p.managerAddr)
			later := func(ready error) { time.AfterFunc(1200*time.Millisecond, func() { files.happen(ready) }) }
			later(nil)
			stock(t, run[0], run[1:]...)
			if opens, _ := files.asked(); opens < 2 {
				t.Errorf("%d opens", opens)
			}
			files.happen(errs.New(errs.Unavailable, "open", "", "no node is online"))
			later(errs.New(errs.Denied, "open", "/f", "it is closed to all"))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if out, err := exec.CommandContext(ctx, run[0], run[1:]...).CombinedOutput(); err == nil || !strings.Contains(string(out), "closed to all") {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
}
