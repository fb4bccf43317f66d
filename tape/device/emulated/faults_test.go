package emulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/words/errs"
)

// planned makes a library with a plan.
func planned(t *testing.T, faults ...Fault) *Library {
	t.Helper()
	l := open(t, Spec{}, Options{NoSync: true})
	if err := l.SetPlan(Plan{Faults: faults}); err != nil {
		t.Fatal(err)
	}
	return l
}

// object returns a pointer to a number.
func object(n uint64) *uint64 { return &n }

// alerts returns the flags that a loaded drive has raised.
func alerts(t *testing.T, tp device.Tape) []int {
	t.Helper()
	flags, err := tp.(device.Monitor).Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestBadBlockOnRead(t *testing.T) {
	tp := mount(t, planned(t, Fault{Op: "read", Tape: "V00001L9", Object: object(1), Fail: "medium", Count: 2}))
	for n := range 3 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 8<<10)
	for try := range 3 { // the third time it can be read
		if err := tp.Locate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			n, err := tp.ReadBlock(t.Context(), buf)
			if i == 1 && try < 2 {
				if !errors.Is(err, device.ErrMedium) {
					t.Fatal(err)
				}
				if got := alerts(t, tp); !slices.Equal(got, []int{alertReadFailure}) {
					t.Fatal(got)
				}
			} else if err != nil || !bytes.Equal(buf[:n], numbered(i)) {
				t.Fatal(try, i, err)
			}
		}
	}
	if c, err := tp.(device.Monitor).Counters(t.Context()); err != nil || c.ErrorsRead != 2 || c.BlocksRead != 7 || c.BlocksWritten != 3 {
		t.Fatal(c, err)
	}
}

func TestBadBlockOnWrite(t *testing.T) {
	tp := mount(t, planned(t, Fault{Op: "write", After: 2, Count: 1, Fail: "medium"}))
	for n := range 2 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tp.WriteBlock(t.Context(), numbered(2)); !errors.Is(err, device.ErrMedium) {
		t.Fatal(err)
	}
	if got := alerts(t, tp); !slices.Equal(got, []int{alertWriteFailure}) {
		t.Fatal(got)
	}
	if err := tp.WriteBlock(t.Context(), numbered(2)); err != nil {
		t.Fatal(err)
	}
}

func TestFlushFails(t *testing.T) {
	tp := mount(t, planned(t, Fault{Op: "flush", After: 1, Count: 1, Fail: "medium"}))
	for n := range 4 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			if err := tp.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tp.Flush(t.Context()); !errors.Is(err, device.ErrMedium) {
		t.Fatal(err)
	}
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	checkNumbered(t, tp, 2)
	if p, err := tp.Position(t.Context()); err != nil || p.Object != 2 {
		t.Fatal(p, err)
	}
}

func TestNotReadyThenReady(t *testing.T) {
	l := planned(t, Fault{Op: "load", Drive: "emu0", Count: 2, Fail: "not-ready"})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	for try := range 3 {
		_, err := l.Drives()[0].Load(t.Context())
		if want := try < 2; errors.Is(err, device.ErrNotReady) != want || !want && err != nil {
			t.Fatal(try, err)
		}
	}
}

// TestStuck: a cartridge that does not come out stays loaded, and the changer does not get it.
func TestStuck(t *testing.T) {
	l := planned(t, Fault{Op: "unload", Drive: "EMUDRIVE000", Count: 1, Fail: "hardware"})
	tp := mount(t, l)
	if err := l.Drives()[0].Unload(t.Context()); !errors.Is(err, device.ErrHardware) {
		t.Fatal(err)
	}
	if err := l.Changer().Move(t.Context(), addressDrive, addressSlot); !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
	if err := tp.WriteBlock(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	if err := l.Drives()[0].Unload(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestOtherOperationsFail: each operation has faults of its own, and works when they are over.
func TestOtherOperationsFail(t *testing.T) {
	ctx := t.Context()
	for _, test := range []struct {
		op   string
		call func(device.Tape) error
	}{
		{"locate", func(tp device.Tape) error { return tp.Locate(ctx, 1) }},
		{"locate", func(tp device.Tape) error { return tp.Space(ctx, 1) }},
		{"locate", func(tp device.Tape) error { return tp.SpaceToEnd(ctx) }},
		{"mark", func(tp device.Tape) error { return tp.WriteMarks(ctx, 1, true) }},
		{"flush", func(tp device.Tape) error { return tp.Flush(ctx) }},
	} {
		for name, want := range map[string]error{"medium": device.ErrMedium, "hardware": device.ErrHardware, "not-ready": device.ErrNotReady} {
			l := planned(t)
			tp := mount(t, l)
			if err := tp.WriteBlock(ctx, numbered(0)); err != nil {
				t.Fatal(err)
			}
			if err := tp.WriteMarks(ctx, 1, false); err != nil {
				t.Fatal(err)
			}
			if err := tp.Locate(ctx, 0); err != nil {
				t.Fatal(err)
			}
			if err := l.SetPlan(Plan{Faults: []Fault{{Op: test.op, Fail: name, Count: 1}}}); err != nil {
				t.Fatal(err)
			}
			if err := test.call(tp); !errors.Is(err, want) {
				t.Errorf("%s with %s: %v", test.op, name, err)
			}
			if err := test.call(tp); err != nil {
				t.Errorf("%s after %s: %v", test.op, name, err)
			}
		}
	}
}

// TestSlowOperation: a fault may only take time.
func TestSlowOperation(t *testing.T) {
	l := planned(t, Fault{Op: "move", Seconds: 90, Count: 1})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); err != nil {
		t.Fatal(err)
	}
	near(t, "a slow move", l.Elapsed(), moveTime+90*time.Second)
}

// TestRobotFails: the cartridge stays where it was.
func TestRobotFails(t *testing.T) {
	l := planned(t, Fault{Op: "move", Count: 1, Fail: "hardware"})
	if err := l.Changer().Move(t.Context(), addressSlot, addressDrive); !errors.Is(err, device.ErrHardware) {
		t.Fatal(err)
	}
	mount(t, l)
}

func TestEarlyEndOfTape(t *testing.T) {
	tp := mount(t, planned(t, Fault{Op: "write", After: 3, Fail: "end"}))
	for n := range 3 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // it has really ended
		if err := tp.WriteBlock(t.Context(), numbered(3)); !errors.Is(err, device.ErrEndOfTape) || errs.KindOf(err) != errs.NoSpace {
			t.Fatal(err)
		}
	}
	if err := tp.WriteMarks(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedBit: block protection finds it; without, it is written and read.
func TestFlippedBit(t *testing.T) {
	tp := mount(t, planned(t, Fault{Op: "write", Count: 2, Fail: "corrupt"}, Fault{Op: "read", Object: object(1), Count: 1, Fail: "corrupt"}))
	if err := tp.WriteBlock(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	if err := tp.(device.Protector).Protect(t.Context(), true, true); err != nil {
		t.Fatal(err)
	}
	if err := tp.WriteBlock(t.Context(), numbered(1)); !errors.Is(err, device.ErrProtection) {
		t.Fatal(err)
	}
	if err := tp.WriteBlock(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	if err := tp.Locate(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8<<10)
	n, err := tp.ReadBlock(t.Context(), buf)
	if err != nil || bytes.Equal(buf[:n], numbered(0)) {
		t.Fatal("the bit that flipped on the way is right again", err)
	}
	if _, err := tp.ReadBlock(t.Context(), buf); !errors.Is(err, device.ErrProtection) {
		t.Fatal(err)
	}
}

// TestPlannedPowerCut: what was not flushed is gone.
func TestPlannedPowerCut(t *testing.T) {
	l := planned(t, Fault{Op: "write", Drive: "emu0", After: 5, Count: 1, Fail: "power"})
	tp := mount(t, l)
	for n := range 5 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			if err := tp.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tp.WriteBlock(t.Context(), numbered(5)); !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
	tp, err := l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkNumbered(t, tp, 3)
	if p, err := tp.Position(t.Context()); err != nil || p.Object != 3 {
		t.Fatal(p, err)
	}
}

// TestPlanFile: the file works while the library is open, again when it changes, and no more when it is gone.
func TestPlanFile(t *testing.T) {
	l := open(t, Spec{}, Options{NoSync: true})
	tp := mount(t, l)
	file := filepath.Join(l.dir, FaultsName)
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	set(`{"faults": [{"op": "write", "fail": "hardware", "alert": 30}]}`)
	if err := tp.WriteBlock(t.Context(), numbered(0)); !errors.Is(err, device.ErrHardware) {
		t.Fatal(err)
	}
	if got := alerts(t, tp); !slices.Equal(got, []int{30}) {
		t.Fatal(got)
	}
	set(`{"faults": [{"op": "write", "fail": "medium"}]}`)
	if err := tp.WriteBlock(t.Context(), numbered(0)); !errors.Is(err, device.ErrMedium) {
		t.Fatal(err)
	}
	set(`{"faults": [{"op": "wirte"}]}`)
	if err := tp.WriteBlock(t.Context(), numbered(0)); errs.KindOf(err) != errs.Invalid {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := tp.WriteBlock(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	// The list has what was hit, and neither the plan that cannot be read nor the write that went well.
	list, err := os.ReadFile(filepath.Join(l.dir, HitsName))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(list)) {
		var h hit
		if err := json.Unmarshal([]byte(line), &h); err != nil || h.Time.IsZero() || h.Drive == "" || h.Tape == "" {
			t.Errorf("%q: %v", line, err)
		}
		got = append(got, h.Op+" "+h.Fail)
	}
	if want := []string{"write hardware", "write medium"}; !slices.Equal(got, want) {
		t.Errorf("hits %q, want %q", got, want)
	}
}

func TestPlansAreChecked(t *testing.T) {
	l := open(t, Spec{}, Options{})
	for _, f := range []Fault{{Op: "fly"}, {Fail: "badly"}, {Alert: 65}, {Alert: -1}, {Count: -1}, {After: -1}, {Seconds: -1}} {
		if err := l.SetPlan(Plan{Faults: []Fault{f}}); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
