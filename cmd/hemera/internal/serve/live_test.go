package serve

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/process/config"
)

// lines is a writer that sends each write, which is one line of a log, to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(bytes.TrimSpace(p))
	return len(p), nil
}

// TestHangupReadsSettingsAgain: valid settings take effect; invalid ones are logged with their line and change nothing.
func TestHangupReadsSettingsAgain(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("this process was started by nohup")
	}
	file := filepath.Join(t.TempDir(), "h.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	c := &cobra.Command{}
	config.Register(c.Flags())
	if err := c.ParseFlags([]string{"--config", file, "--data", t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	_, v, err := settings(&cli.Env{Console: cli.Console{Err: io.Discard}}, c, true)
	if err != nil {
		t.Fatal(err)
	}
	log := make(lines, 10)
	v.log = slog.New(slog.NewTextHandler(log, nil))
	var applied []config.Config
	v.apply = func(now config.Config, _ []config.Changed) { applied = append(applied, now) }
	defer v.followHangups(t.Context())()
	for _, step := range []struct {
		file    string
		says    []string
		applied int
	}{
		{"[repair]\ngrace = '9s'\n", []string{"key=repair.grace", "different=1"}, 1},
		{"[repair]\ngrace = 'x'\n[uq]\ny = 1", []string{"level=ERROR"}, 1},
		{"port = 5\n[repair]\ngrace = '9s'", []string{"needs a restart", "different=1"}, 1},
	} {
		write(step.file)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for _, want := range step.says {
			line := <-log
			if !strings.Contains(line, want) {
				t.Errorf("%q logs %s, want %s", step.file, line, want)
			}
			if strings.Contains(line, "ERROR") && !(strings.Contains(line, "h.toml:2") && strings.Contains(line, "h.toml:4")) {
				t.Errorf("the lines are not in %s", line)
			}
		}
		if len(applied) != step.applied {
			t.Errorf("%q: applied %d times", step.file, len(applied))
		}
	}
}
