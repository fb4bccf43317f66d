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

// A misspelt variable must not send a command to another cluster than was meant in silence.
func TestMisspeltURLIsNamed(t *testing.T) {
	var out bytes.Buffer
	set := ""
	e := &env{Err: &out, Getenv: func(string) string { return set }, Environ: func() []string { return []string{"HEMERA_ULR=root://m", "HEMERA_DATADIR=/d"} }}
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
