package files

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// A piece on an unreachable disk is not reported as bad.
func TestAPieceOutOfReachIsNotBad(t *testing.T) {
	good := adminapi.PieceCheck{OK: true}
	away := adminapi.PieceCheck{Offline: true, Error: "disk 6 is on an offline node"}
	bad := adminapi.PieceCheck{Error: "1 pages do not match"}
	for _, c := range []struct {
		checks []adminapi.PieceCheck
		kind   errs.Kind
		text   string
	}{
		{[]adminapi.PieceCheck{good, away}, errs.Unavailable, "1 of 2 pieces are out of reach"},
		{[]adminapi.PieceCheck{bad, good}, errs.Corrupt, "1 of 2 pieces are bad"},
		{[]adminapi.PieceCheck{bad, away}, errs.Corrupt, "1 of 2 pieces are bad, 1 out of reach"},
	} {
		var out bytes.Buffer
		e := &cli.Env{Console: cli.Console{Out: &out, Getenv: func(string) string { return "" }}, Now: time.Now}
		err := printChecks(e, c.checks, false)
		if errs.KindOf(err) != c.kind || !strings.HasSuffix(err.Error(), c.text) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", c.text, err)
		}
		if strings.Contains(out.String(), "offline  ") != strings.Contains(c.text, "out of reach") {
			t.Errorf("%s:\n%s", c.text, &out)
		}
	}
	e := &cli.Env{Console: cli.Console{Out: &bytes.Buffer{}, Getenv: func(string) string { return "" }}, Now: time.Now}
	if err := printChecks(e, []adminapi.PieceCheck{good}, false); err != nil {
		t.Error(err)
	}
}
