package emulated

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/tape/device"
)

// hanging begins a flush of one block that hangs by a plan on file, and returns when it does.
func hanging(t *testing.T, ctx context.Context) (l *Library, tp device.Tape, done chan error) {
	t.Helper()
	l = open(t, Spec{}, Options{NoSync: true})
	tp = mount(t, l)
	if err := tp.WriteBlock(ctx, numbered(0)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, FaultsName), []byte(`{"faults": [{"op": "flush", "object": 1, "fail": "hang"}]}`), 0o640); err != nil {
		t.Fatal(err)
	}
	done = make(chan error, 1)
	go func() { done <- tp.Flush(ctx) }()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatal("the flush does not hang:", err)
	default:
	}
	if list, err := os.ReadFile(filepath.Join(l.dir, HitsName)); err != nil || !strings.Contains(string(list), `"fail":"hang"`) {
		t.Fatalf("the hit is not listed while the operation hangs: %q, %v", list, err)
	}
	if l.drives[0].loaded.cartridge.committed != 0 {
		t.Fatal("an operation that hangs has done something")
	}
	return l, tp, done
}

// TestHang: the operation goes on when its fault has left the plan, not when another one has.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, tp, done := hanging(t, t.Context())
		set := func(text string) {
			t.Helper()
			part := filepath.Join(l.dir, "part")
			if err := os.WriteFile(part, []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(part, filepath.Join(l.dir, FaultsName)); err != nil {
				t.Fatal(err)
			}
		}
		// The bubble's clock advances while all wait: the plan is looked at some times.
		set(`{"faults": [{"op": "flush", "object": 1, "fail": "hang"}, {"op": "load", "fail": "hardware"}]}`)
		for range 3 {
			<-time.After(hangLook)
		}
		select {
		case err := <-done:
			t.Fatal("the fault is in the plan still:", err)
		default:
		}
		set(`{"faults": []}`)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := tp.Locate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		checkNumbered(t, tp, 1)
	})
}

// TestHangEnds: with its caller, or with the library; nothing is flushed.
func TestHangEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, done := hanging(t, ctx)
		cancel()
		if err := <-done; !errors.Is(err, device.ErrNotReady) {
			t.Error("the caller ended:", err)
		}
		l, _, done := hanging(t, t.Context())
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, device.ErrNotReady) {
			t.Error("the library was closed:", err)
		}
	})
}
