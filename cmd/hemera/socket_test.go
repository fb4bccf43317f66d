package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/platform/link"
	"hemera/process/config"
)

// TestCommandsOverTheUnixSocket: commands that ask the manager work; commands that carry files fail, and their error says
// which address to use.
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
		{"find root://else:1094//", cli.ExitUsage, "write the path alone"}, {"ls /", cli.ExitUsage, "--url root://localhost:1094"},
	} {
		var out bytes.Buffer
		e := &cli.Env{Console: cli.Console{Out: &out, Err: &out, Getenv: func(name string) string {
			if name == config.URLVariable {
				return admin.SocketURL(path)
			}
			return ""
		}}, Now: time.Now}
		if code := cli.Run(context.Background(), e, newRootCommand(e), strings.Fields(c.args)); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", c.args, code, out.String())
		}
	}
}
