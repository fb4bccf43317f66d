package manager

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/contain"
)

// TestALoopThatPanicsBeginsAgain after a rest, and ends as it says or with the context.
func TestALoopThatPanicsBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics, turns, began := contain.New(nil), 0, time.Now()
		err := loop(t.Context(), panics, "test", func(context.Context) error {
			if turns++; turns < 3 {
				panic("a defect")
			}
			return io.EOF
		})()
		if err != io.EOF || turns != 3 || panics.Count() != 2 || time.Since(began) != 2*beginAgain {
			t.Errorf("%v after %d turns in %s, %d panics", err, turns, time.Since(began), panics.Count())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := loop(ctx, panics, "test", func(context.Context) error { panic("a defect") })(); err != nil {
			t.Error(err)
		}
	})
}
