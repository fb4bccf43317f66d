package contain

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"hemera/words/errs"
)

// TestAPanicIsAnErrorOfItsUnit: the panic becomes an error, is counted, and is logged with its stack.
func TestAPanicIsAnErrorOfItsUnit(t *testing.T) {
	var log bytes.Buffer
	p := New(slog.New(slog.NewTextHandler(&log, nil)))
	if err := p.Do("test.Work", "unit 1", func() error { return nil }); err != nil || p.Count() != 0 {
		t.Errorf("%v, %d", err, p.Count())
	}
	if err := p.Do("test.Work", "unit 2", func() error { return io.EOF }); !errors.Is(err, io.EOF) || p.Count() != 0 {
		t.Errorf("%v, %d", err, p.Count())
	}
	err := p.Do("test.Work", "unit 3", func() error { return broken(nil) })
	if !errors.Is(err, errs.Internal) || !strings.Contains(err.Error(), "unit 3") || errs.RemedyOf(err) == "" || p.Count() != 1 {
		t.Errorf("%v, %d", err, p.Count())
	}
	if !strings.Contains(log.String(), "contain.broken") {
		t.Errorf("the log has no stack: %s", log.String())
	}
	var group sync.WaitGroup
	p.Go(&group, "test.Work", "unit 4", func() { _ = broken(nil) })
	group.Wait()
	if err := p.Func("test.Work", "unit 5", func() error { return broken(nil) })(); !errors.Is(err, errs.Internal) || p.Count() != 3 {
		t.Errorf("%v, %d", err, p.Count())
	}
	if !p.Run("test.Work", "unit 6", func() {}) || p.Run("test.Work", "unit 7", func() { _ = broken(nil) }) || p.Count() != 4 {
		t.Errorf("%d panics after all", p.Count())
	}
	var none *Panics
	if err := none.Do("test.Work", "unit 4", func() error { return broken(nil) }); !errors.Is(err, errs.Internal) || none.Count() != 0 {
		t.Errorf("without a counter: %v", err)
	}
}

func broken(list []error) error { return list[len(list)] }
