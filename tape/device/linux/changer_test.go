package linux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

func TestInventory(t *testing.T) {
	for _, noSerials := range []bool{false, true} {
		l := newFakeLibrary()
		l.noSerials = noSerials
		l.attentions = []scsi.Sense{{Key: scsi.UnitAttention, ASC: 0x29}, {Key: scsi.UnitAttention, ASC: 0x28, ASCQ: 1}}
		c, err := openChanger(t.Context(), newFakeKernel(l), l.changer)
		if err != nil {
			t.Fatal(err)
		}
		want := []device.Element{
			{Address: 1, Kind: device.ElementArm},
			{Address: 0x400, Kind: device.ElementSlot, Full: true, Barcode: "V00002L9"},
			{Address: 0x401, Kind: device.ElementSlot, Full: true, Barcode: "V00003L9"},
			{Address: 0x402, Kind: device.ElementSlot},
			{Address: 0x403, Kind: device.ElementSlot},
			{Address: 0x100, Kind: device.ElementDrive, Full: true, Barcode: "V00001L9", Source: 0x402, Serial: "1013000123"},
			{Address: 0x101, Kind: device.ElementDrive, Serial: "1013000124"},
		}
		if noSerials {
			want[5].Serial, want[6].Serial = "", ""
		}
		for range 2 {
			if got, err := c.Inventory(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v", got, err)
			}
		}
	}
}

// A cartridge is carried to a drive, loaded, unloaded, and carried back.
func TestACartridgeGoesRound(t *testing.T) {
	l := newFakeLibrary()
	k := newFakeKernel(l)
	c, err := openChanger(t.Context(), k, l.changer)
	mustDo(t, err)
	d, err := openDrive(t.Context(), k, "/dev/nst1")
	mustDo(t, err)
	d.dev.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	if s, err := d.Status(t.Context()); err != nil || s.Loaded {
		t.Errorf("before: %+v, %v", s, err)
	}
	mustDo(t, c.Move(t.Context(), 0x401, 0x101))
	tp, err := d.Load(t.Context())
	mustDo(t, err)
	mustDo(t, tp.WriteBlock(t.Context(), make([]byte, 80)))
	if err := c.Move(t.Context(), 0x101, 0x401); !errors.Is(err, device.ErrNotReady) {
		t.Errorf("a move while the drive holds the cartridge: %v", err)
	}
	for _, m := range []struct {
		from, to int
		want     error
	}{{0x402, 0x403, device.ErrEmpty}, {0x400, 0x101, device.ErrFull}, {0x400, 0x999, errs.Invalid}, {1, 0x403, errs.Invalid}} {
		if err := c.Move(t.Context(), m.from, m.to); !errors.Is(err, m.want) {
			t.Errorf("%x to %x: %v, want %v", m.from, m.to, err, m.want)
		}
	}
	mustDo(t, d.Unload(t.Context()))
	mustDo(t, c.Move(t.Context(), 0x101, 0x401))
	if s, err := d.Status(t.Context()); err != nil || s.Loaded {
		t.Errorf("after: %+v, %v", s, err)
	}
	if got := len(l.slots[1].objects); got != 1 {
		t.Errorf("the cartridge has %d objects", got)
	}
}

// sysfs writes the files that the kernel has for the fake library.
func sysfs(t *testing.T) string {
	root := t.TempDir()
	put := func(path, content string) {
		path = filepath.Join(root, "class", path)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, []byte(content), 0o644))
	}
	for i, serial := range []string{"1013000123", "1013000124"} {
		for _, name := range []string{"st", "nst"} {
			dir := "scsi_tape/" + name + string(rune('0'+i)) + "/device/"
			put(dir+"vendor", "HEMERA  \n")
			put(dir+"model", "FAKE-TD9        \n")
			put(dir+"vpd_pg80", "\x01\x80\x00\x0a"+serial)
			put(dir+"scsi_generic/sg"+string(rune('1'+i))+"/uevent", "")
		}
	}
	put("scsi_generic/sg0/device/type", "0\n") // a disk
	put("scsi_generic/sg1/device/type", "1\n")
	put("scsi_generic/sg3/device/type", "8\n")
	put("scsi_generic/sg3/device/vendor", "HEMERA  \n")
	put("scsi_generic/sg3/device/model", "FAKE-LIB        \n")
	return root
}

func TestDiscoverPairsDrivesWithElements(t *testing.T) {
	l := newFakeLibrary()
	d := discovery{sys: newFakeKernel(l), sysfs: sysfs(t), access: func(string) error { return nil }}
	got, err := discover(t.Context(), d)
	want := Found{
		Drives: []FoundDrive{
			{Device: "/dev/nst0", Generic: "/dev/sg1", Vendor: "HEMERA", Product: "FAKE-TD9", Serial: "1013000123", Changer: "/dev/sg3", Element: 0x100},
			{Device: "/dev/nst1", Generic: "/dev/sg2", Vendor: "HEMERA", Product: "FAKE-TD9", Serial: "1013000124", Changer: "/dev/sg3", Element: 0x101},
		},
		Changers: []FoundChanger{{Device: "/dev/sg3", Vendor: "HEMERA", Product: "FAKE-LIB", Serial: "LIB0001", Slots: 4, Drives: 2, Cartridges: 3}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDiscoverSaysWhichPermissionIsMissing(t *testing.T) {
	l := newFakeLibrary()
	k := newFakeKernel(l)
	k.rawio = false
	d := discovery{sys: k, sysfs: sysfs(t), access: func(path string) error {
		if path == "/dev/nst0" {
			return openError(os.ErrPermission, path)
		}
		return nil
	}}
	got, err := discover(t.Context(), d)
	if err != nil || len(got.Drives) != 2 || len(got.Changers) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(got.Drives[0].Why, "permission") || got.Drives[1].Why != "" {
		t.Errorf("%+v", got.Drives)
	}
	if !strings.Contains(got.Changers[0].Why, "CAP_SYS_RAWIO") {
		t.Errorf("%+v", got.Changers)
	}
	if _, err := discover(t.Context(), discovery{sysfs: "/does/not/exist"}); !errors.Is(err, errs.NotFound) {
		t.Errorf("without sysfs: %v", err)
	}
	if got, err := discover(t.Context(), discovery{sysfs: t.TempDir()}); err != nil || len(got.Drives)+len(got.Changers) != 0 {
		t.Errorf("a machine without tape: %+v, %v", got, err)
	}
}

func TestCapabilities(t *testing.T) {
	for status, want := range map[string]bool{
		"Name:\themera\nCapEff:\t000001ffffffffff\n": true,
		"CapEff:\t0000000000020000\n":                true,
		"CapEff:\t0000000000000000\n":                false,
		"Name:\tCapEff\n":                            false,
	} {
		if got := rawAllowed(status); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}
