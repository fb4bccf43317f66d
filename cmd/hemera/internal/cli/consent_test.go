package cli

import (
	"bytes"
	"strings"
	"testing"

	"hemera/words/errs"
)

// Without consent nothing is destroyed: there must be a terminal, and the answer yes. The consequences are printed in
// every case.
func TestConsent(t *testing.T) {
	for name, c := range map[string]struct {
		k        Consent
		terminal bool
		answer   string
		ok       bool
		remedy   string
	}{
		"--yes":             {k: Consent{yes: true}, ok: true},
		"--dry-run":         {k: Consent{Dry: true}, terminal: true, answer: "yes\n"},
		"yes":               {terminal: true, answer: "yes\n", ok: true},
		"y":                 {terminal: true, answer: "y\n", remedy: "the whole word"},
		"nothing":           {terminal: true, remedy: "the whole word"},
		"no terminal":       {answer: "yes\n", remedy: "--dry-run"},
		"--yes, a terminal": {k: Consent{yes: true}, terminal: true, answer: "no\n", ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said bytes.Buffer
			e := &Env{Console: Console{In: strings.NewReader(c.answer), Out: &out, Err: &said, Asks: c.terminal, Getenv: func(string) string { return "" }}}
			ok, err := e.Agree(t.Context(), c.k, "fs rm", []string{"disk 9 holds 2 pieces"})
			if ok != c.ok || (err == nil) != (c.ok || c.k.Dry) || !strings.Contains(errs.RemedyOf(err), c.remedy) {
				t.Errorf("%v, %v, remedy %q", ok, err, errs.RemedyOf(err))
			}
			if !strings.Contains(out.String()+said.String(), "disk 9 holds 2 pieces") {
				t.Errorf("it did not say what goes: %q %q", out.String(), said.String())
			}
		})
	}
}

// With -j a dry run prints one JSON object, however many lines it describes.
func TestConsentDryRunJSON(t *testing.T) {
	var out bytes.Buffer
	e := &Env{Console: Console{Out: &out, Err: &out, json: true, Getenv: func(string) string { return "" }}}
	ok, err := e.Agree(t.Context(), Consent{Dry: true}, "fs rm", []string{"disk 9 holds 2 pieces", "disk 10 holds 3 pieces"})
	if n := strings.Count(out.String(), `"result"`); ok || err != nil || n != 1 {
		t.Errorf("%v, %v, %d objects: %s", ok, err, n, out.String())
	}
}
