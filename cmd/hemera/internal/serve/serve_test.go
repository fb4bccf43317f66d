package serve

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"hemera/app/config"
	"hemera/app/statedir"
	"hemera/cmd/hemera/internal/cli"
)

func TestLogsSpellDurations(t *testing.T) {
	var out bytes.Buffer
	e := &cli.Env{Console: cli.Console{Err: &out}}
	logger(e, config.Log{Format: "auto"}, slog.LevelInfo).Info("no lease", "again", 1600*time.Millisecond, "n", 3)
	if !strings.HasSuffix(out.String(), `"msg":"no lease","again":"1.6s","n":3}`+"\n") {
		t.Errorf("got %s", out.String())
	}
}

// TestUpStartsAsItWasStarted: what is not said is as it was, and what is said is remembered.
func TestUpStartsAsItWasStarted(t *testing.T) {
	dir := t.TempDir()
	start := func(args ...string) statedir.UpShape {
		t.Helper()
		c := UpCommand(&cli.Env{Console: cli.Console{Err: io.Discard}})
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
		if err := statedir.SaveUpShape(dir, shape); err != nil {
			t.Fatal(err)
		}
		return shape
	}
	minute := 5 * time.Minute
	for _, c := range []struct {
		args []string
		want statedir.UpShape
	}{
		{nil, statedir.UpShape{Nodes: 6, Disks: 6, Grace: minute}},
		{[]string{"--nodes", "2", "--disks", "4", "--repair-grace", "10s"}, statedir.UpShape{Nodes: 2, Disks: 4, Grace: 10 * time.Second}},
		{nil, statedir.UpShape{Nodes: 2, Disks: 4, Grace: 10 * time.Second}},
		{[]string{"--nodes", "5"}, statedir.UpShape{Nodes: 5, Disks: 5, Grace: 10 * time.Second}},
		{[]string{"--repair-grace", "5m"}, statedir.UpShape{Nodes: 5, Disks: 5, Grace: minute}},
	} {
		if got := start(c.args...); got != c.want {
			t.Errorf("%v: %+v, not %+v", c.args, got, c.want)
		}
	}
}

// TestEventLoop: on unless a flag or a variable switches it off.
func TestEventLoop(t *testing.T) {
	for _, command := range []func(*cli.Env) *cobra.Command{ManagerCommand, UpCommand} {
		for _, c := range []struct {
			args, variable string
			without        bool
		}{
			{"", "", false}, {"--event-loop=false", "", true}, {"", "false", true}, {"--event-loop", "false", false},
		} {
			t.Setenv("HEMERA_CONNECTIONS_EVENT_LOOP", c.variable)
			if c.variable == "" {
				_ = os.Unsetenv("HEMERA_CONNECTIONS_EVENT_LOOP")
			}
			e := &cli.Env{Console: cli.Console{Err: io.Discard}}
			cmd := command(e)
			if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			l, log, err := settings(e, cmd)
			if err != nil {
				t.Fatal(err)
			}
			o, err := managerOptions(e, l, cmd.Name(), log)
			if err != nil || o.WithoutLoop != c.without {
				t.Errorf("%s %+v: without the loop is %v, %v", cmd.Name(), c, o.WithoutLoop, err)
			}
		}
	}
}

// TestAdminSocketPath: below the data directory unless it says otherwise.
func TestAdminSocketPath(t *testing.T) {
	for _, c := range []struct {
		args   []string
		path   string
		wished bool
	}{
		{nil, "/d/admin.sock", false}, {[]string{"--http-socket", "x"}, "/d/x", true},
		{[]string{"--http-socket", "/run/h/a"}, "/run/h/a", true}, {[]string{"--http-socket="}, "", true},
	} {
		cmd := ManagerCommand(&cli.Env{})
		if err := cmd.ParseFlags(append(c.args, "--data", "/d")); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(config.Sources{Flags: cmd.Flags()})
		if err != nil {
			t.Fatal(err)
		}
		if path, wished := adminSocket(l); path != c.path || wished != c.wished {
			t.Errorf("%v: %q, %v", c.args, path, wished)
		}
	}
}
