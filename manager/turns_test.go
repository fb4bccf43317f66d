package manager

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/fairshare"
	"hemera/words/hemera"
)

// longDirectory has many names.
type longDirectory struct {
	hemera.Names
	hemera.Directories
}

func (longDirectory) List(_ context.Context, _ hemera.Identity, _ string, visit func(hemera.Entry) error) error {
	for i := range 1000 {
		if err := visit(hemera.Entry{Name: strconv.Itoa(i)}); err != nil {
			return err
		}
	}
	return nil
}

// TestLongListingsWaitForTheirTurn; an admin's does not.
func TestLongListingsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fairshare.Of(1)
		user, other := hemera.Identity{Name: "user", UID: 1}, hemera.Identity{Name: "other", UID: 2}
		names := &names{
			tree: longDirectory{}, ops: newOperations(time.Now), turns: l,
			tell:   func(context.Context, *hemera.Entry) {},
			absent: func(_ hemera.Identity, err error) error { return err },
		}
		list := func(who hemera.Identity) (n int, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = names.List(ctx, who, "/", func(hemera.Entry) error { n++; return nil })
			return n, err
		}
		release, err := l.Acquire(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := list(user); n == 0 || n == 1000 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a turn: %d names, %v", n, err)
		}
		if n, err := list(hemera.SystemIdentity()); n != 1000 || err != nil {
			t.Errorf("an admin: %d names, %v", n, err)
		}
		release()
		if n, err := list(user); n != 1000 || err != nil {
			t.Errorf("with turns: %d names, %v", n, err)
		}
	})
}
