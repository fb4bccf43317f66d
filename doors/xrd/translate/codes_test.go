package translate

import (
	"strings"
	"syscall"
	"testing"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// TestTextsHaveThePosixWords checks that the words of a kind are in the text once, at its end, because clients parse
// them.
func TestTextsHaveThePosixWords(t *testing.T) {
	for kind := errs.Internal; kind <= errs.Overloaded; kind++ {
		words := errs.Posix(kind)[0]
		for _, text := range []string{"it is so", "it is so: " + words, "It is so: " + strings.ToUpper(words)} {
			err := errs.New(kind, "namespace.Open", "/f", text).WithRemedy("do something")
			got := ErrorAnswer(errs.As(err, kind, "manager.Open", ""), "t").Text
			if strings.Count(strings.ToLower(got), words) != 1 || !strings.HasSuffix(got, " [trace t]") || !strings.Contains(got, "do something") {
				t.Errorf("%s, %q: %q", kind, text, got)
			}
			if text == "it is so" && !strings.HasSuffix(got, "do something; "+words+" [trace t]") {
				t.Errorf("%s: the words are not the end: %q", kind, got)
			}
		}
	}
	// Errors without a kind: of a door, of a decoder, of a newer version, of the operating system.
	for want, err := range map[string]error{
		"no path; invalid argument [trace t]":                        Refuse(wire.ArgMissing, "no path"),
		"unknown; invalid argument [trace t]":                        Refuse(wire.InvalidRequest, "unknown"),
		"too many; cannot allocate memory [trace t]":                 Refuse(wire.NoMemory, "too many"),
		"not for you; permission denied [trace t]":                   Refuse(wire.NotAuthorized, "not for you"),
		"is not open; bad file descriptor [trace t]":                 Refuse(wire.FileNotOpen, "is not open"),
		"no; input/output error [trace t]":                           Refuse(wire.ServerError, "no"),
		"not here; operation not supported [trace t]":                Refuse(wire.FSError, "not here; operation not supported"),
		"long: file name too long [trace t]":                         Refuse(wire.ArgTooLong, "long: file name too long"),
		"open /f: new; input/output error [trace t]":                 errs.New(200, "xrd.Open", "/f", "new"),
		"no such file or directory [trace t]":                        syscall.ENOENT,
		"open /f: ended; resource temporarily unavailable [trace t]": errs.New(errs.Unavailable, "xrd.Open", "/f", "ended"),
	} {
		if got := ErrorAnswer(err, "t").Text; got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestCodes(t *testing.T) {
	for k := errs.Internal; k <= errs.Overloaded; k++ {
		if code := CodeOf(k); code < wire.ArgInvalid || code > wire.TimerExpired {
			t.Errorf("%s has code %d", k, code)
		}
	}
	if len(codes) != int(errs.Overloaded)+1 || CodeOf(200) != wire.ServerError {
		t.Error("the ends of the table")
	}
}
