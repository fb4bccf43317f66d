package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/app/config"
	"hemera/doors/admin"
	"hemera/platform/link"
)

// TestCommandsOverTheUnixSocket: those that ask the manager work, those that carry files say what to name instead.
func TestCommandsOverTheUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dmin%.sock") // characters that a URL writes in another way
	l, err := link.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	fixture := serveFixture()
	defer fixture.Close()
	server := &http.Server{Handler: fixture.Config.Handler}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"fs ls", 0, "default.0"}, {"find /", 0, "/"}, {"find :/", 0, "/"}, {"token ls", 0, ""}, {"config show", 0, "listen"},
		{"find root://else:1094//", exitUsage, "write the path alone"}, {"ls /", exitUsage, "--url root://localhost:1094"},
	} {
		var out bytes.Buffer
		e := &env{console: console{Out: &out, Err: &out, Getenv: func(name string) string {
			if name == config.URLVariable {
				return admin.SocketURL(path)
			}
			return ""
		}}, Now: time.Now}
		if code := execute(context.Background(), e, newRootCommand(e), strings.Fields(c.args)); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, out.String())
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
		cmd := managerCommand(&env{})
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
