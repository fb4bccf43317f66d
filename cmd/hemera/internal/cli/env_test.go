package cli

import (
	"bytes"
	"testing"
)

// A misspelt variable must not send a command to another cluster silently.
func TestMisspeltURLIsNamed(t *testing.T) {
	var out bytes.Buffer
	set := ""
	e := &Env{Console: Console{Err: &out, Getenv: func(string) string { return set }}, Environ: func() []string { return []string{"HEMERA_ULR=root://m", "HEMERA_DATADIR=/d"} }}
	for range 2 {
		if u := e.ClusterURL(); u != URLDefault {
			t.Errorf("%q", u)
		}
	}
	if want := "hemera: HEMERA_ULR is not the variable of a setting and does nothing: did you mean HEMERA_URL?\n"; out.String() != want {
		t.Errorf("said %q", out.String())
	}
	out.Reset()
	set = "root://m:1"
	if u := e.ClusterURL(); u != set || out.Len() > 0 {
		t.Errorf("%q, said %q", u, out.String())
	}
}
