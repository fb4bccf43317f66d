package linux

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// loaded makes a drive of a fake library with its cartridge loaded. Waiting takes no time.
func loaded(t *testing.T, change func(*fakeDrive)) (*fakeDrive, *Drive, *Tape) {
	t.Helper()
	l := newFakeLibrary()
	f := l.drives["/dev/nst0"]
	if change != nil {
		change(f)
	}
	d, err := openDrive(t.Context(), newFakeKernel(l), "/dev/nst0")
	if err != nil {
		t.Fatal(err)
	}
	d.dev.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	loaded, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f, d, loaded.(*Tape)
}

// mustDo fails the test at the first error.
func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a tape: a number is a block of that many bytes, 0 a filemark.
func write(t *testing.T, tp *Tape, objects ...int) {
	t.Helper()
	for i, n := range objects {
		if n == 0 {
			mustDo(t, tp.WriteMarks(t.Context(), 1, true))
			continue
		}
		mustDo(t, tp.WriteBlock(t.Context(), bytes.Repeat([]byte{byte(i)}, n)))
	}
	mustDo(t, tp.Flush(t.Context()))
}

// objects is the contents of a cartridge: lengths of blocks, 0 for filemarks.
func (d *fakeDrive) lengths() (all []int) {
	for _, o := range d.cartridge.objects {
		all = append(all, len(o.block))
	}
	return all
}

func object(t *testing.T, tp *Tape, want uint64) {
	t.Helper()
	if p, err := tp.Position(t.Context()); err != nil || p.Object != want {
		t.Fatalf("the tape stands before %d (%v), want %d", p.Object, err, want)
	}
}

func TestBlocksMarksAndTheEndAreToldApart(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80, 1000, 0, 500)
	mustDo(t, tp.Locate(t.Context(), 0))
	buf := make([]byte, 1000)
	for i, want := range []struct {
		n   int
		err error
	}{{80, nil}, {1000, nil}, {0, device.ErrFileMark}, {500, nil}, {0, device.ErrEndOfData}, {0, device.ErrEndOfData}, {0, device.ErrEndOfData}} {
		n, err := tp.ReadBlock(t.Context(), buf)
		if n != want.n || !errors.Is(err, want.err) || err == nil != (want.err == nil) {
			t.Errorf("read %d: %d, %v; want %d, %v", i, n, err, want.n, want.err)
		}
		if n > 0 && buf[0] != byte(i) {
			t.Errorf("read %d: the bytes are those of object %d", i, buf[0])
		}
	}
	object(t, tp, 4)
	// After the end of data st answers reads from memory; a Locate must end that.
	mustDo(t, tp.Locate(t.Context(), 1))
	if n, err := tp.ReadBlock(t.Context(), buf); n != 1000 || err != nil {
		t.Errorf("after the end of data and a Locate: %d, %v", n, err)
	}
	if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 1000, 0, 500}) {
		t.Errorf("reading changed the tape: %v", got)
	}
}

func TestTheEndBehindAFilemarkIsNotAFilemark(t *testing.T) {
	_, _, tp := loaded(t, nil)
	write(t, tp, 80, 0)
	mustDo(t, tp.Locate(t.Context(), 1))
	buf := make([]byte, 100)
	for i, want := range []error{device.ErrFileMark, device.ErrEndOfData, device.ErrEndOfData} {
		if _, err := tp.ReadBlock(t.Context(), buf); !errors.Is(err, want) {
			t.Errorf("read %d: %v, want %v", i, err, want)
		}
	}
}

func TestABlockThatIsTooBigIsPassed(t *testing.T) {
	_, _, tp := loaded(t, nil)
	write(t, tp, 1000, 80)
	mustDo(t, tp.Locate(t.Context(), 0))
	if _, err := tp.ReadBlock(t.Context(), make([]byte, 100)); !errors.Is(err, device.ErrBlockTooBig) {
		t.Fatal(err)
	}
	if n, err := tp.ReadBlock(t.Context(), make([]byte, 100)); n != 80 || err != nil {
		t.Errorf("the next block: %d, %v", n, err)
	}
}

// Moving or closing after a write must not leave the filemark that st writes by itself.
func TestNoFilemarkIsWrittenThatNobodyAskedFor(t *testing.T) {
	for name, after := range map[string]func(*Drive, *Tape) error{
		"locate": func(_ *Drive, tp *Tape) error { return tp.Locate(context.Background(), 0) },
		"space":  func(_ *Drive, tp *Tape) error { return tp.SpaceToEnd(context.Background()) },
		"close":  func(d *Drive, _ *Tape) error { return d.Close() },
		"unload": func(d *Drive, _ *Tape) error { return d.Unload(context.Background()) },
		"load":   func(d *Drive, _ *Tape) error { _, err := d.Load(context.Background()); return err },
		"close at the beginning": func(d *Drive, tp *Tape) error {
			return errors.Join(tp.Locate(context.Background(), 0), d.Close())
		},
	} {
		f, d, tp := loaded(t, nil)
		mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 80)))
		mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 90)))
		if err := after(d, tp); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 90}) {
			t.Errorf("%s: the tape has %v", name, got)
		}
	}
}

func TestMoves(t *testing.T) {
	_, _, tp := loaded(t, nil)
	write(t, tp, 80, 0, 80, 80, 0, 0, 80)
	for _, c := range []struct {
		name string
		move func(context.Context) error
		at   uint64
		want error
	}{
		{"to the begin", func(ctx context.Context) error { return tp.Locate(ctx, 0) }, 0, nil},
		{"two marks ahead", func(ctx context.Context) error { return tp.Space(ctx, 2) }, 5, nil},
		{"one back", func(ctx context.Context) error { return tp.Space(ctx, -1) }, 4, nil},
		{"nowhere", func(ctx context.Context) error { return tp.Space(ctx, 0) }, 4, nil},
		{"more than there are", func(ctx context.Context) error { return tp.Space(ctx, 5) }, 7, device.ErrEndOfData},
		{"more back than there are", func(ctx context.Context) error { return tp.Space(ctx, -9) }, 0, errs.Invalid},
		{"to the end", tp.SpaceToEnd, 7, nil},
		{"to an object", func(ctx context.Context) error { return tp.Locate(ctx, 3) }, 3, nil},
		{"behind the end", func(ctx context.Context) error { return tp.Locate(ctx, 1<<40) }, 7, device.ErrEndOfData},
	} {
		if err := c.move(t.Context()); !errors.Is(err, c.want) || err == nil != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		object(t, tp, c.at)
	}
}

func TestWritingCutsWhatFollows(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80, 0, 80, 80)
	mustDo(t, tp.Locate(t.Context(), 1))
	mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 7)))
	if _, err := tp.ReadBlock(t.Context(), make([]byte, 80)); !errors.Is(err, device.ErrEndOfData) {
		t.Errorf("behind what was written: %v", err)
	}
	if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 7}) {
		t.Errorf("%v", got)
	}
}

func TestTheEarlyWarningIsToldOnce(t *testing.T) {
	for _, behind := range []bool{false, true} {
		f, _, tp := loaded(t, func(f *fakeDrive) { f.cartridge.capacity, f.writesBehind = 1000, behind })
		block := make([]byte, 20)
		var told []int
		for i := 0; len(told) < 2; i++ {
			err := tp.WriteBlock(t.Context(), block)
			if !errors.Is(err, device.ErrEndOfTape) {
				mustDo(t, err)
				continue
			}
			told = append(told, i)
			if p, err := tp.Position(t.Context()); err != nil || !p.EarlyWarning || len(told) == 1 && p.Object != 50 {
				t.Errorf("at the warning: %+v, %v", p, err)
			}
		}
		// 50 blocks are before the warning, 5 behind it; the second refusal is the physical end.
		if !reflect.DeepEqual(told, []int{50, 56}) || f.used() != 1100 {
			t.Errorf("ErrEndOfTape came from writes %v, with %d bytes on tape", told, f.used())
		}
		if err := tp.WriteMarks(t.Context(), 1, false); err != nil {
			t.Errorf("a filemark behind the warning: %v", err)
		}
	}
}

// What comes after a block that was written behind the caller's back, and met the early warning, is done nevertheless.
func TestTheWarningOfAnEarlierBlockStopsNothing(t *testing.T) {
	for name, use := range map[string]func(*Drive, *Tape) error{
		"marks":    func(_ *Drive, tp *Tape) error { return tp.WriteMarks(context.Background(), 1, true) },
		"flush":    func(_ *Drive, tp *Tape) error { return tp.Flush(context.Background()) },
		"locate":   func(_ *Drive, tp *Tape) error { return tp.Locate(context.Background(), 0) },
		"position": func(_ *Drive, tp *Tape) error { _, err := tp.Position(context.Background()); return err },
		"unload":   func(d *Drive, _ *Tape) error { return d.Unload(context.Background()) },
		"read": func(_ *Drive, tp *Tape) error {
			if _, err := tp.ReadBlock(context.Background(), make([]byte, 80)); !errors.Is(err, device.ErrEndOfData) {
				return errors.Join(errors.New("not the end of data"), err)
			}
			return nil
		},
	} {
		f, d, tp := loaded(t, func(f *fakeDrive) { f.cartridge.capacity, f.writesBehind = 50, true })
		mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 50)))
		if !f.st.behind {
			t.Fatal("nothing is pending")
		}
		if err := use(d, tp); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(f.cartridge.objects[0].block) != 50 {
			t.Errorf("%s: the tape has %v", name, f.lengths())
		}
	}
}

func TestErrorsOfBlocks(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80, 80, 80)
	f.cartridge.objects[1].bad = true
	f.cartridge.objects[2].key = "another"
	for at, want := range map[uint64]error{1: device.ErrMedium, 2: device.ErrEncrypted} {
		mustDo(t, tp.Locate(t.Context(), at))
		if _, err := tp.ReadBlock(t.Context(), make([]byte, 80)); !errors.Is(err, want) {
			t.Errorf("object %d: %v, want %v", at, err, want)
		}
	}
	for _, n := range []int{0, device.BlockMax + 1} {
		if err := tp.WriteBlock(t.Context(), make([]byte, n)); !errors.Is(err, errs.Invalid) {
			t.Errorf("a block of %d bytes: %v", n, err)
		}
	}
	f.cartridge.protected = true
	if err := tp.WriteBlock(t.Context(), make([]byte, 80)); !errors.Is(err, device.ErrWriteProtected) {
		t.Errorf("write-protected: %v", err)
	}
	if err := tp.WriteMarks(t.Context(), 1, false); !errors.Is(err, device.ErrWriteProtected) {
		t.Errorf("write-protected: %v", err)
	}
}

func TestBlockProtection(t *testing.T) {
	f, _, tp := loaded(t, nil)
	mustDo(t, tp.Protect(t.Context(), true, true))
	if f.protection != (scsi.Protection{Method: 2, Length: 4, Read: true, Write: true}) {
		t.Fatalf("%+v", f.protection)
	}
	write(t, tp, 80, 0, 90)
	if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 0, 90}) {
		t.Errorf("on tape: %v", got)
	}
	mustDo(t, tp.Locate(t.Context(), 0))
	buf := make([]byte, 80) // exactly the block
	if n, err := tp.ReadBlock(t.Context(), buf); n != 80 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := tp.ReadBlock(t.Context(), buf); !errors.Is(err, device.ErrFileMark) {
		t.Errorf("%v", err)
	}
	if _, err := tp.ReadBlock(t.Context(), buf); !errors.Is(err, device.ErrBlockTooBig) {
		t.Errorf("%v", err)
	}
	// The next load begins without protection.
	mustDo(t, tp.Protect(t.Context(), true, true))
	_, err := tp.drive.Load(t.Context())
	if err != nil || f.protection.Read || f.protection.Write {
		t.Errorf("after a load: %+v, %v", f.protection, err)
	}
}

func TestABlockThatChangedOnItsWayIsFound(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80)
	mustDo(t, tp.Protect(t.Context(), true, false))
	mustDo(t, tp.Locate(t.Context(), 0))
	f.protection.Read = false // the device sends no checksum: the last four bytes are not one
	if _, err := tp.ReadBlock(t.Context(), make([]byte, 80)); !errors.Is(err, device.ErrProtection) {
		t.Errorf("%v", err)
	}
}

func TestOrderAndWhatADriveDoesNotHave(t *testing.T) {
	_, _, tp := loaded(t, nil)
	if n, err := tp.OrderMax(t.Context()); n != 100 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	order, err := tp.Order(t.Context(), []device.Segment{{Begin: 50, End: 60}, {Begin: 10, End: 20}, {Begin: 30, End: 40}})
	if err != nil || !reflect.DeepEqual(order, []int{1, 2, 0}) {
		t.Errorf("%v, %v", order, err)
	}
	_, _, tp = loaded(t, func(f *fakeDrive) { f.noFeatures = true })
	if n, err := tp.OrderMax(t.Context()); n != 0 || err != nil {
		t.Errorf("without: %d, %v", n, err)
	}
	if err := tp.SetKey(t.Context(), device.Key{Secret: make([]byte, 32)}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("without encryption: %v", err)
	}
	if err := tp.Protect(t.Context(), true, true); tp.Protectable() || !errors.Is(err, errs.Unsupported) {
		t.Errorf("without protection: %v", err)
	}
}

func TestMonitor(t *testing.T) {
	f, _, tp := loaded(t, func(f *fakeDrive) { f.corrected = 5 })
	f.corrected, f.alerts = 7, []int{3, 20}
	write(t, tp, 80, 90, 0)
	c, err := tp.Counters(t.Context())
	if want := (device.Counters{BytesWritten: 170, BlocksWritten: 2, ErrorsRead: 2, ErrorsWritten: 2}); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	for _, want := range [][]int{{3, 20}, nil} {
		if a, err := tp.Alerts(t.Context()); err != nil || !reflect.DeepEqual(a, want) {
			t.Errorf("alerts %v, %v; want %v", a, err, want)
		}
	}
	if v, err := tp.Volume(t.Context()); err != nil || v.Mounts != 42 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A reset rewinds the tape: what would be written next would be written over the beginning.
func TestALostPositionEndsTheTape(t *testing.T) {
	for name, use := range map[string]func(*Tape) error{
		"locate": func(tp *Tape) error { return tp.Locate(context.Background(), 1) },
		"write":  func(tp *Tape) error { return tp.WriteBlock(context.Background(), make([]byte, 6)) },
		"marks":  func(tp *Tape) error { return tp.WriteMarks(context.Background(), 1, true) },
		"status": func(tp *Tape) error { _, err := tp.drive.Status(context.Background()); return err },
	} {
		f, d, tp := loaded(t, nil)
		write(t, tp, 80, 80)
		// st takes one attention itself, as it would when it settles.
		attention := scsi.Sense{Key: scsi.UnitAttention, ASC: 0x29}
		f.attentions = []scsi.Sense{attention}
		f.at = 0
		_ = use(tp)
		if err := tp.WriteBlock(t.Context(), make([]byte, 5)); err == nil {
			t.Errorf("%s: a block was written after a reset", name)
		}
		if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 80}) {
			t.Errorf("%s: the tape has %v", name, got)
		}
		f.attentions = nil
		if _, err := d.Load(t.Context()); err != nil {
			t.Errorf("%s: a new load: %v", name, err)
		}
	}
}

func TestALoadTellsOfALossOnce(t *testing.T) {
	f, d, tp := loaded(t, nil)
	mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 80)))
	f.attentions = []scsi.Sense{{Key: scsi.UnitAttention, ASC: 0x29}}
	if _, err := d.Load(t.Context()); err == nil {
		t.Error("the drive was reset with a block in its buffer, and nobody was told")
	}
	if _, err := d.Load(t.Context()); err != nil {
		t.Errorf("the next load: %v", err)
	}
}

func TestAfterAFailedWriteTheTapeHasToBeMoved(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80, 80)
	f.attentions = []scsi.Sense{{Key: scsi.UnitAttention, ASC: 0x3F, ASCQ: 1}}
	for name, use := range map[string]func() error{
		"write": func() error { return tp.WriteBlock(t.Context(), make([]byte, 5)) },
		"marks": func() error { return tp.WriteMarks(t.Context(), 1, false) },
		"flush": func() error { return tp.Flush(t.Context()) },
	} {
		if err := use(); !errors.Is(err, device.ErrMedium) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustDo(t, tp.SpaceToEnd(t.Context()))
	write(t, tp, 5)
	if got := f.lengths(); !reflect.DeepEqual(got, []int{80, 80, 5}) {
		t.Errorf("%v", got)
	}
}

func TestOtherAttentionsAreRetried(t *testing.T) {
	f, _, tp := loaded(t, nil)
	write(t, tp, 80, 80)
	mustDo(t, tp.Locate(t.Context(), 0))
	parameters := scsi.Sense{Key: scsi.UnitAttention, ASC: 0x2A, ASCQ: 1}
	f.attentions = []scsi.Sense{parameters, parameters}
	object(t, tp, 0)
	for range 2 * attentionsMax {
		f.attentions = append(f.attentions, parameters)
	}
	if _, err := tp.Position(t.Context()); !errors.Is(err, device.ErrNotReady) {
		t.Errorf("attentions without end: %v", err)
	}
}

func TestAnEndedContextStopsWaiting(t *testing.T) {
	_, d, tp := loaded(t, nil)
	mustDo(t, d.dev.acquire(t.Context())) // a command is under way
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tp.Locate(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// Status does not wait either.
	if s, err := d.Status(t.Context()); err != nil || s != (device.Status{}) {
		t.Errorf("%+v, %v", s, err)
	}
	d.dev.release()
	if s, err := d.Status(t.Context()); err != nil || s != (device.Status{Loaded: true, Ready: true, BeginOfTape: true, Density: 0x60}) {
		t.Errorf("%+v, %v", s, err)
	}
}
