package linux

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/words/errs"
)

func TestStructuresHaveTheLayoutOfTheKernel(t *testing.T) {
	var h header
	for name, c := range map[string][2]uintptr{
		"mtop":                  {unsafe.Sizeof(operation{}), 8},
		"mtop.mt_count":         {unsafe.Offsetof(operation{}.Count), 4},
		"mtget":                 {unsafe.Sizeof(driverStatus{}), 48},
		"mtget.mt_fileno":       {unsafe.Offsetof(driverStatus{}.File), 40},
		"sg_io_hdr":             {unsafe.Sizeof(h), 88},
		"sg_io_hdr.dxfer_len":   {unsafe.Offsetof(h.Size), 12},
		"sg_io_hdr.dxferp":      {unsafe.Offsetof(h.Data), 16},
		"sg_io_hdr.sbp":         {unsafe.Offsetof(h.Sense), 32},
		"sg_io_hdr.timeout":     {unsafe.Offsetof(h.Timeout), 40},
		"sg_io_hdr.usr_ptr":     {unsafe.Offsetof(h.User), 56},
		"sg_io_hdr.status":      {unsafe.Offsetof(h.Status), 64},
		"sg_io_hdr.sb_len_wr":   {unsafe.Offsetof(h.SenseSize), 67},
		"sg_io_hdr.host":        {unsafe.Offsetof(h.HostStatus), 68},
		"sg_io_hdr.resid":       {unsafe.Offsetof(h.Rest), 72},
		"MTIOCTOP has the size": {requestOperation >> 16 & 0x3FFF, unsafe.Sizeof(operation{})},
		"MTIOCGET has the size": {requestStatus >> 16 & 0x3FFF, unsafe.Sizeof(driverStatus{})},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", name, c[0], c[1])
		}
	}
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fakeDrive)
		want   error
		says   string
	}{
		{"ready", func(*fakeDrive) {}, nil, ""},
		{"becomes ready", func(f *fakeDrive) { f.notReady = 30 }, nil, ""},
		{"needs a load command", func(f *fakeDrive) { f.needsLoad = true }, nil, ""},
		{"fixed blocks", func(f *fakeDrive) { f.defaultBlockSize = 512 }, nil, ""},
		{"empty", func(f *fakeDrive) { f.cartridge = nil }, device.ErrNoMedium, ""},
		{"never ready", func(f *fakeDrive) { f.notReady = 1 << 30 }, device.ErrNotReady, ""},
		{"fixed blocks only", func(f *fakeDrive) { f.defaultBlockSize, f.fixedOnly = 512, true }, errs.Unsupported, "setblk 0"},
	} {
		l := newFakeLibrary()
		f := l.drives["/dev/nst0"]
		c.change(f)
		d, err := openDrive(t.Context(), newFakeKernel(l), "/dev/nst0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := 0
		d.dev.pause = func(ctx context.Context, _ time.Duration) error {
			if waits++; waits > 100 {
				cancel()
			}
			return ctx.Err()
		}
		tp, err := d.Load(ctx)
		cancel()
		if !errors.Is(err, c.want) || err == nil != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if c.says != "" && !strings.Contains(errs.RemedyOf(err), c.says) {
			t.Errorf("%s: the remedy is %q", c.name, errs.RemedyOf(err))
		}
		if err == nil {
			if err := tp.WriteBlock(t.Context(), make([]byte, 700)); err != nil {
				t.Errorf("%s: the first write: %v", c.name, err)
			}
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	k := newFakeKernel(newFakeLibrary())
	for path, want := range map[string]errs.Kind{"/dev/nst9": errs.NotFound, "/dev/sg3": errs.Invalid} {
		if _, err := openDrive(t.Context(), k, path); !errors.Is(err, want) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v, remedy %q", path, err, errs.RemedyOf(err))
		}
	}
	d, err := openDrive(t.Context(), k, "/dev/nst0")
	if err != nil || d.Identity() != (device.Identity{Vendor: "HEMERA", Product: "FAKE-TD9", Revision: "0001", Serial: "1013000123", Device: "/dev/nst0"}) {
		t.Fatalf("%+v, %v", d.Identity(), err)
	}
	if _, err := openDrive(t.Context(), k, "/dev/nst0"); !errors.Is(err, errs.Unavailable) || !strings.Contains(errs.RemedyOf(err), "fuser") {
		t.Errorf("a second process: %v", err)
	}
	mustDo(t, d.Close())
	k.rawio = false
	if _, err := openDrive(t.Context(), k, "/dev/nst0"); !errors.Is(err, errs.Denied) || !strings.Contains(errs.RemedyOf(err), "CAP_SYS_RAWIO") {
		t.Errorf("without the capability: %v", err)
	}
	if err := openError(unix.EACCES, "/dev/nst0"); !errors.Is(err, errs.Denied) || !strings.Contains(errs.RemedyOf(err), "tape") {
		t.Errorf("without the group: %v", err)
	}
}

func TestUnload(t *testing.T) {
	f, d, tp := loaded(t, nil)
	mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 80)))
	f.stuck = true
	if err := d.Unload(t.Context()); !errors.Is(err, device.ErrHardware) {
		t.Errorf("stuck: %v", err)
	}
	f.stuck = false
	mustDo(t, d.Unload(t.Context()))
	if !f.needsLoad || f.buffered != 0 {
		t.Errorf("%+v", f)
	}
	if err := tp.Locate(t.Context(), 0); !errors.Is(err, errs.BadHandle) {
		t.Errorf("a tape after its unload: %v", err)
	}
	if s, err := d.Status(t.Context()); err != nil || !s.Loaded || s.Ready {
		t.Errorf("%+v, %v", s, err)
	}
}
