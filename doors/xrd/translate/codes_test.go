package translate

import (
	"testing"

	"hemera/errs"
	"hemera/rules/wire"
)

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
