package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hemera/measure/tool"
	"hemera/words/errs"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"fio-3.33\n": "3.33",
		"iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18.1": "3.12",
		"fio-3.36-13-g2f4c\n":                        "3.36-13-g2f4c",
		"mystery, second edition\nmore\n":            "mystery, second edition",
	} {
		if got := tool.Version(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

func TestAMissingProgramHasARemedy(t *testing.T) {
	_, err := tool.Find(t.Context(), "hemera-no-such-program", "no-such-package")
	if !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) != "apt install no-such-package" {
		t.Errorf("%v; %s", err, errs.RemedyOf(err))
	}
}

func TestAFailureSaysWhatTheProgramSaid(t *testing.T) {
	out, err := shell().Run(t.Context(), "", "-c", "echo partial; echo the disk is gone >&2; exit 3")
	if !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "the disk is gone") || string(out) != "partial\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err = shell().Run(t.Context(), "", "-c", "exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a silent program: %v", err)
	}
}

func TestNumbersHaveAPoint(t *testing.T) {
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	if out, err := shell().Run(t.Context(), "", "-c", "echo $LC_ALL"); err != nil || string(out) != "C\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	if _, err := shell().Run(t.Context(), "", "-c", "head -c 17000000 /dev/zero"); !errors.Is(err, errs.TooLarge) {
		t.Errorf("17 MB: %v", err)
	}
}

// A program and its child wait for ever. Both hold a pipe, which is closed when both have ended.
func TestTheEndOfTheContextEndsTheWholeGroup(t *testing.T) {
	for name, script := range map[string]string{
		"obeys SIGTERM":             `sleep 1000 & echo ready >alive; wait`,
		"the child ignores SIGTERM": `(trap "" TERM; echo ready >alive; while :; do sleep 1; done) & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			alive := filepath.Join(dir, "alive")
			if err := syscall.Mkfifo(alive, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := shell().Run(ctx, dir, "-c", script)
				failed <- err
			}()
			if text, err := os.ReadFile(alive); err != nil || string(text) != "ready\n" {
				t.Fatalf("%q, %v", text, err)
			}
			cancel()
			select {
			case err := <-failed:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Run: %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it runs on")
			}
		})
	}
}

// shell returns a program that every system has.
func shell() tool.Program { return tool.Program{Name: "sh", Path: "/bin/sh"} }
