package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
)

// TestNodesMeasure: the manager's order runs a program on the node's machine, with the node's disks, returns its result,
// and ends it with the caller's context. The node decides what may be run.
func TestNodesMeasure(t *testing.T) {
	dir := t.TempDir()
	begun, program := filepath.Join(dir, "begun"), filepath.Join(dir, "hemera")
	text := `#!/bin/sh
for w; do case $w in
--out=*) echo "$@" >"${w#--out=}/result.json" ;;
--quick=true) trap 'echo ended >` + begun + `; exit 130' TERM; echo begun >` + begun + `; while :; do sleep 0.05; done ;;
esac; done
`
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2, Executable: program, Manager: ManagerOptions{
		Dir: filepath.Join(dir, "up"), Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, u)()
	data, err := u.Manager.Observer.Measure(t.Context(), 2, []string{"bench", "disk", "--loads=read"})
	if err != nil || !strings.Contains(string(data), "bench disk --loads=read") || !strings.Contains(string(data), "disk2") || strings.Contains(string(data), "disk1") {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := u.Manager.Observer.Measure(t.Context(), 1, []string{"bench", "disk", "/etc"}); !errors.Is(err, errs.Denied) {
		t.Errorf("a directory that is not the node's: %v", err)
	}
	if _, err := u.Manager.Observer.Measure(t.Context(), 9, []string{"doctor"}); !errors.Is(err, errs.NotFound) {
		t.Errorf("no such node: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := u.Manager.Observer.Measure(ctx, 1, []string{"bench", "disk", "--quick=true"})
		ended <- err
	}()
	await(t, begun, "begun")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, errs.Cancelled) {
		t.Errorf("cancelled: %v", err)
	}
	await(t, begun, "ended")
}

// await returns when a file has a text.
func await(t *testing.T, path, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(path)
		if strings.TrimSpace(string(data)) == text {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %q, not %q", path, data, text)
		}
	}
}
