package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause.For(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := pause.For(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if err := pause.For(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := pause.For(t.Context(), -1); err != nil {
			t.Error(err)
		}
	})
}
