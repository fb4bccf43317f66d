package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"hemera/config"
)

func TestLogsSpellDurations(t *testing.T) {
	var out bytes.Buffer
	e := &env{Err: &out}
	e.logger(config.Log{Format: "auto"}, slog.LevelInfo).Info("no lease", "again", 1600*time.Millisecond, "n", 3)
	if !strings.HasSuffix(out.String(), `"msg":"no lease","again":"1.6s","n":3}`+"\n") {
		t.Errorf("got %s", out.String())
	}
}
