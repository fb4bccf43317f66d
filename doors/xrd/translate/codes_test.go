package translate

import (
	"strings"
	"testing"

	"hemera/errs"
	"hemera/rules/wire"
)

// TestTextsHaveThePosixWords: clients read them, whatever the error says besides, and they are there once.
func TestTextsHaveThePosixWords(t *testing.T) {
	for kind, words := range map[errs.Kind]string{
		errs.NotFound: "no such file or directory", errs.Exists: "file exists", errs.IsDirectory: "is a directory",
		errs.NotDirectory: "not a directory", errs.NotEmpty: "directory not empty", errs.Denied: "permission denied",
		errs.NoSpace: "no space left on device", errs.OverQuota: "disk quota exceeded", errs.ReadOnly: "read-only file system",
	} {
		for _, text := range []string{"", "it is so", "it is so: " + words} {
			err := errs.New(kind, "namespace.Open", "/f", text).WithRemedy("do something")
			got := ErrorAnswer(errs.As(err, kind, "manager.Open", ""), "t").Text
			if strings.Count(got, words) != 1 || !strings.HasSuffix(got, " [trace t]") || !strings.Contains(got, "do something") {
				t.Errorf("%s, %q: %q", kind, text, got)
			}
		}
	}
	if got := ErrorAnswer(errs.New(errs.Conflict, "manager.Open", "/f", "changed"), "t").Text; got != "open /f: changed [trace t]" {
		t.Errorf("a kind without words: %q", got)
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
