package cli

import (
	"errors"
	"fmt"
	"testing"

	"hemera/words/errs"
)

// TestRemediesOfWhatIsNotThere: the error about a missing path of the cluster has a remedy, whichever verb reports it;
// that of a path of this machine has none.
func TestRemediesOfWhatIsNotThere(t *testing.T) {
	gone := func(op, subject string) error { return errs.New(errs.NotFound, op, subject, "") }
	const advice = "hemera ls /d shows what is there; if it was removed, hemera recycle ls /d/none may have it"
	for _, c := range []struct {
		err  error
		want string
	}{
		{gone("namespace.Stat", "/d/none"), advice},
		{gone("manager.SetQuota", "/d/none/"), advice},
		{gone("xrootd.Open", "root://localhost//d/none"), advice},
		{fmt.Errorf("find: %w", gone("namespace.Find", "/d/none")), advice},
		{gone("copy.Open", "/d/none"), ""},
		{gone("namespace.Resolve", "fid:9"), ""},
		{gone("namespace.Stat", "/"), ""},
		{errs.New(errs.Denied, "namespace.Stat", "/d/none", ""), ""},
		{errors.New("other"), ""},
	} {
		if got := missing(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
