package measuring_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/process/measuring"
	"hemera/words/errs"
)

func TestPlan(t *testing.T) {
	disks := []string{"/data01", "/data02"}
	for line, want := range map[string]string{
		"bench disk --quick=true":                       "bench disk --quick=true --out=/t /data01 /data02",
		"bench disk --loads=read --size=1GiB":           "bench disk --loads=read --size=1GiB --out=/t /data01 /data02",
		"bench net 10.0.0.2 --for=10s":                  "bench net 10.0.0.2 --for=10s --out=/t",
		"bench io root://m.example.org//scratch --load": "bench io root://m.example.org//scratch --load --out=/t",
		"bench io --clients=8,8":                        "bench io --clients=8,8 --out=/t root://m:1094//",
		"doctor --size=64MiB":                           "doctor --size=64MiB --save=/t/snapshot.json",
	} {
		args, leaves, err := measuring.Plan(strings.Fields(line), disks, "m:1094", "/t")
		if err != nil || strings.Join(args, " ") != want || filepath.Dir(leaves) != "/t" {
			t.Errorf("%q: %q, %q, %v", line, args, leaves, err)
		}
	}
}

// TestPlanRefuses: commands that write, read or start something that the node did not choose.
func TestPlanRefuses(t *testing.T) {
	for _, line := range []string{
		"", "bench", "rm -r /", "bench ns", "bench energy", "node", "bench disk /etc", "bench disk /dev/sda --write-device=/dev/sda",
		"bench disk --write-device=/dev/sda", "bench disk --out=/etc", "bench disk -j", "bench disk --", "bench net --out=/x", "bench net -B", "bench net $(reboot)",
		"bench io /etc", "bench io file:///etc", "bench io --driver=ior", "bench io --scratch=/etc", "bench io --pid=1", "doctor --fix", "doctor --save=/etc/passwd",
		"doctor --from=/etc/shadow", "doctor /", "bench disk --quick=true --config=/etc/shadow",
	} {
		if args, _, err := measuring.Plan(strings.Fields(line), nil, "m:1094", "/t"); !errors.Is(err, errs.Denied) {
			t.Errorf("%q: %q, %v", line, args, err)
		}
	}
}

// script returns a runner with an executable script in place of hemera. The script gets the arguments of Plan.
func script(t *testing.T, text string) *measuring.Runner {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hemera")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return &measuring.Runner{Executable: path, Disks: func() []string { return []string{"/data01"} }, Manager: func() string { return "m:1094" }}
}

func TestRun(t *testing.T) {
	t.Setenv("HEMERA_NODE_JOIN", "secret")
	r := script(t, `for w; do case $w in --out=*) env >"${w#--out=}/result.json"; echo "$@" >>"${w#--out=}/result.json";; esac; done`)
	data, err := r.Run(t.Context(), []string{"bench", "disk"})
	if err != nil || !strings.Contains(string(data), "bench disk --out=") || !strings.Contains(string(data), "/data01") {
		t.Errorf("%s, %v", data, err)
	}
	if strings.Contains(string(data), "secret") {
		t.Error("the measurement sees the node's secrets")
	}
}

func TestRunTellsWhatFailed(t *testing.T) {
	r := script(t, "echo first >&2; echo no fio >&2; exit 3")
	if _, err := r.Run(t.Context(), []string{"bench", "disk"}); err == nil || !strings.Contains(err.Error(), "no fio") {
		t.Error(err)
	}
	r = script(t, "exit 0")
	if _, err := r.Run(t.Context(), []string{"doctor"}); !errors.Is(err, errs.NotFound) {
		t.Errorf("nothing was left: %v", err)
	}
}

// TestRunEndsWithItsContext: the measurement has time to remove its files.
func TestRunEndsWithItsContext(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	r := script(t, "trap 'echo removed >"+mark+"; exit 130' TERM; echo >"+mark+"; while :; do sleep 0.05; done")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if data, err := os.ReadFile(mark); err == nil && len(data) > 0 {
				cancel()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := r.Run(ctx, []string{"bench", "disk"}); !errors.Is(err, context.Canceled) && !errors.Is(err, errs.Cancelled) {
		t.Error(err)
	}
	if data, _ := os.ReadFile(mark); !slices.Equal(data, []byte("removed\n")) {
		t.Errorf("mark %q", data)
	}
}
