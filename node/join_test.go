package node

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestOpenWaitsForTheFirstLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl()
		c.set(func() { c.away = true })
		n, stop := running(t, options(t, c, t.TempDir()))
		defer stop()
		_, err := n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{})
		if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
			t.Errorf("without a manager: %v", err)
		}
		time.AfterFunc(joinPatience/2, func() { c.set(func() { c.away = false }) })
		_, err = n.Open(t.Context(), hemera.ParsePermit(""), hemera.NodeOpen{})
		if !errors.Is(err, errs.Denied) { // the test's Verify knows no token; it was called at last
			t.Errorf("the manager came back: %v", err)
		}
	})
}
