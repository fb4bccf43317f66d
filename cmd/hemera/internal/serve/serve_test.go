package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/doors/admin"
	"hemera/process/config"
	"hemera/process/statedir"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestLogsSpellDurations(t *testing.T) {
	var out bytes.Buffer
	e := &cli.Env{Console: cli.Console{Err: &out}}
	logger(e, config.Log{Format: "auto"}, slog.LevelInfo).Info("no lease", "again", 1600*time.Millisecond, "n", 3)
	if !strings.HasSuffix(out.String(), `"msg":"no lease","again":"1.6s","n":3}`+"\n") {
		t.Errorf("got %s", out.String())
	}
}

// TestUpStartsAsItWasStarted: up saves the given values, and the next start uses them unless others are given.
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

// TestEventLoop: the event loop is on unless a flag or a variable switches it off.
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
			l, v, err := settings(e, cmd, false)
			if err != nil {
				t.Fatal(err)
			}
			o, err := managerOptions(e, l, cmd.Name(), v)
			if err != nil || o.WithoutLoop != c.without {
				t.Errorf("%s %+v: without the loop is %v, %v", cmd.Name(), c, o.WithoutLoop, err)
			}
		}
	}
}

// TestAdminSocketPath: the path is below the data directory unless it is absolute.
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

// TestTapeServerBesideAManager: an emulated library uses another directory and port than a manager, and gets a token
// itself, unless its admin says otherwise. A real library does none of this.
func TestTapeServerBesideAManager(t *testing.T) {
	work := t.TempDir()
	t.Chdir(work)
	emulated := filepath.Join(work, "hemera-emulated")
	made := t.TempDir() // with a library of an earlier start
	if err := os.Mkdir(filepath.Join(made, tapeFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(work, "token")
	if err := os.WriteFile(token, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const free = "127.0.0.1:0"
	for _, c := range []struct {
		args         string
		env          map[string]string
		dir, listen  string
		asks, device bool
	}{
		{"--emulate drives=2", nil, emulated, free, true, false},
		{"--emulate drives=2 --data /d --port 1234", nil, "/d", "127.0.0.1:1234", true, false},
		{"--emulate drives=2 --port 1094", nil, emulated, "127.0.0.1:1094", true, false},
		{"--emulate drives=2", map[string]string{"HEMERA_DATA": "/d", "HEMERA_PORT": "1095"}, "/d", "127.0.0.1:1095", true, false},
		{"", map[string]string{"HEMERA_TAPE_EMULATE": "drives=2"}, emulated, free, true, false},
		{"--data " + made, nil, made, free, true, false},
		{"--emulate drives=2 --join x", nil, emulated, free, false, false},
		{"--emulate drives=2 --join-file " + token, nil, emulated, free, false, false},
		{"--emulate drives=2", map[string]string{"HEMERA_NODE_JOIN": "x"}, emulated, free, false, false},
		{"--changer /dev/sg3 --drive /dev/nst0", nil, "/var/lib/hemera", "127.0.0.1:1094", false, true},
	} {
		e := &cli.Env{Console: cli.Console{Err: io.Discard}}
		cmd := TapeServeCommand(e)
		if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(config.Sources{Flags: cmd.Flags(), Env: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }})
		if err != nil {
			t.Fatal(err)
		}
		o, err := tapeOptions(e, l, func(context.Context) (string, error) { return "", nil })
		if err != nil || o.Dir != c.dir || o.Listen != c.listen || (o.AskToken != nil) != c.asks {
			t.Errorf("%s %v: in %s at %s, asks %v, %v", c.args, c.env, o.Dir, o.Listen, o.AskToken != nil, err)
			continue
		}
		// A real library must not be reported as faster than real.
		if device := o.Tape.Dir == "" && o.Tape.Changer != ""; device != c.device {
			t.Errorf("%s: the library is %+v", c.args, o.Tape)
		}
	}
}

// TestATokenIsForAdmins: for other users, the error says where to get a token and that a file can hold it.
func TestATokenIsForAdmins(t *testing.T) {
	ask := func(who hemera.Identity) (string, error) {
		server := httptest.NewServer(admin.NewHandler(admin.Services{Tokens: fixture.NewCluster()}, func(*http.Request) (hemera.Identity, error) { return who, nil }))
		defer server.Close()
		c := &cobra.Command{}
		c.SetContext(t.Context())
		return askToken(&cli.Env{Console: cli.Console{Err: io.Discard, Getenv: func(string) string { return server.URL }}}, c)
	}
	token, err := ask(hemera.Identity{Name: "guest"})
	if remedy := errs.RemedyOf(err); token != "" || !errors.Is(err, errs.Denied) || !strings.Contains(remedy, "as root") || !strings.Contains(remedy, "--join-file") {
		t.Errorf("%q, %v: %s", token, err, remedy)
	}
	if token, err = ask(hemera.Identity{Name: "root", Admin: true}); err != nil || token != "hemjoin-"+tokenLifetime.String() {
		t.Errorf("%q, %v", token, err)
	}
}
