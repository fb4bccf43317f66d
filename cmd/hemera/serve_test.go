package main

import (
	"bytes"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/app/config"
	"hemera/app/daemon"
)

func TestLogsSpellDurations(t *testing.T) {
	var out bytes.Buffer
	e := &env{console: console{Err: &out}}
	e.logger(config.Log{Format: "auto"}, slog.LevelInfo).Info("no lease", "again", 1600*time.Millisecond, "n", 3)
	if !strings.HasSuffix(out.String(), `"msg":"no lease","again":"1.6s","n":3}`+"\n") {
		t.Errorf("got %s", out.String())
	}
}

// A misspelt variable must not send a command to another cluster than was meant in silence.
func TestMisspeltURLIsNamed(t *testing.T) {
	var out bytes.Buffer
	set := ""
	e := &env{console: console{Err: &out, Getenv: func(string) string { return set }}, Environ: func() []string { return []string{"HEMERA_ULR=root://m", "HEMERA_DATADIR=/d"} }}
	for range 2 {
		if u := e.clusterURL(); u != urlDefault {
			t.Errorf("%q", u)
		}
	}
	if want := "hemera: HEMERA_ULR is no setting's variable and does nothing: did you mean HEMERA_URL?\n"; out.String() != want {
		t.Errorf("said %q", out.String())
	}
	out.Reset()
	set = "root://m:1"
	if u := e.clusterURL(); u != set || out.Len() > 0 {
		t.Errorf("%q, said %q", u, out.String())
	}
}

// TestEverySettingHasItsFlag: as the list of settings in docs/operations.md says.
func TestEverySettingHasItsFlag(t *testing.T) {
	root := newRootCommand(&env{console: console{Err: io.Discard}})
	var commands []*cobra.Command
	for _, name := range []string{"up", "manager", "node"} {
		c, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, c)
	}
	all := pflag.NewFlagSet("all", pflag.ContinueOnError)
	config.Register(all)
	all.VisitAll(func(f *pflag.Flag) {
		if !slices.ContainsFunc(commands, func(c *cobra.Command) bool { return c.Flags().Lookup(f.Name) != nil }) {
			t.Errorf("no command takes --%s", f.Name)
		}
	})
}

// TestUpStartsAsItWasStarted: what is not said is as it was, and what is said is remembered.
func TestUpStartsAsItWasStarted(t *testing.T) {
	dir := t.TempDir()
	start := func(args ...string) daemon.UpShape {
		t.Helper()
		c := upCommand(&env{console: console{Err: io.Discard}})
		if err := c.ParseFlags(append(args, "--data", dir)); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(config.FromProcess(c.Flags()))
		if err != nil {
			t.Fatal(err)
		}
		shape, err := upShape(l, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if l.Repair.Grace != shape.Grace {
			t.Errorf("the manager is told %s", l.Repair.Grace)
		}
		if err := daemon.SaveUpShape(dir, shape); err != nil {
			t.Fatal(err)
		}
		return shape
	}
	minute := 5 * time.Minute
	for _, c := range []struct {
		args []string
		want daemon.UpShape
	}{
		{nil, daemon.UpShape{Nodes: 6, Disks: 6, Grace: minute}},
		{[]string{"--nodes", "2", "--disks", "4", "--repair-grace", "10s"}, daemon.UpShape{Nodes: 2, Disks: 4, Grace: 10 * time.Second}},
		{nil, daemon.UpShape{Nodes: 2, Disks: 4, Grace: 10 * time.Second}},
		{[]string{"--nodes", "5"}, daemon.UpShape{Nodes: 5, Disks: 5, Grace: 10 * time.Second}},
		{[]string{"--repair-grace", "5m"}, daemon.UpShape{Nodes: 5, Disks: 5, Grace: minute}},
	} {
		if got := start(c.args...); got != c.want {
			t.Errorf("%v: %+v, not %+v", c.args, got, c.want)
		}
	}
}
