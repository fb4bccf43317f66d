package device

import (
	"fmt"
	"strings"
	"testing"

	"hemera/words/errs"
)

// TestCausesAreForPeople: no call of the program, and no place on the tape where it does not matter; the remedy is told apart.
func TestCausesAreForPeople(t *testing.T) {
	deep := func(cause error) error {
		return errs.Wrap(fmt.Errorf("read a label: %w", errs.Wrap(cause, "emulated.Read", "V00001L9 object 1321 in emu0")), "volume.Use", "V00001")
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{deep(ErrMedium), "the tape cannot be read or written here"},
		{deep(ErrWriteProtected), ErrWriteProtected.Error()},
		{errs.New(errs.IO, "linux.Load", "", "the drive does not answer"), "the drive does not answer"},
	} {
		if got := Cause(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
	if got := Cause(deep(errs.New(errs.IO, "linux.Load", "", "the drive does not answer"))); strings.Contains(got, "volume.Use") || strings.Contains(got, "emulated.Read") {
		t.Errorf("%q names calls of the program", got)
	}
}
