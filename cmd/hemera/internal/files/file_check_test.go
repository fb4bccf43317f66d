package files

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A piece on a disk that is away is not a bad one.
func TestAPieceOutOfReachIsNotBad(t *testing.T) {
	good := hemera.PieceCheck{OK: true}
	away := hemera.PieceCheck{Offline: true, Error: "disk 6 is on an offline node"}
	bad := hemera.PieceCheck{Error: "1 pages do not match"}
	for _, c := range []struct {
		checks []hemera.PieceCheck
		kind   errs.Kind
		text   string
	}{
		{[]hemera.PieceCheck{good, away}, errs.Unavailable, "1 of 2 pieces are out of reach"},
		{[]hemera.PieceCheck{bad, good}, errs.Corrupt, "1 of 2 pieces are bad"},
		{[]hemera.PieceCheck{bad, away}, errs.Corrupt, "1 of 2 pieces are bad, 1 out of reach"},
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
	if err := printChecks(e, []hemera.PieceCheck{good}, false); err != nil {
		t.Error(err)
	}
}
