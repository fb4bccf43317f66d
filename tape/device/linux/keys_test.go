package linux

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

func TestKeys(t *testing.T) {
	f, d, tp := loaded(t, nil)
	key := device.Key{Secret: bytes.Repeat([]byte{7}, device.KeySize), Name: "raw-2026"}
	mustDo(t, tp.SetKey(t.Context(), key))
	write(t, tp, 80)
	mustDo(t, tp.ClearKey(t.Context()))
	mustDo(t, tp.Locate(t.Context(), 0))
	// The name is on tape, so that people learn which key is missing.
	if _, err := tp.ReadBlock(t.Context(), make([]byte, 80)); !errors.Is(err, device.ErrEncrypted) || !strings.Contains(err.Error(), `key "raw-2026"`) {
		t.Errorf("without a key: %v", err)
	}
	mustDo(t, tp.SetKey(t.Context(), key))
	if n, err := tp.ReadBlock(t.Context(), make([]byte, 80)); n != 80 || err != nil {
		t.Errorf("with the key: %d, %v", n, err)
	}
	if err := tp.SetKey(t.Context(), device.Key{Secret: key.Secret[:16]}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a short key: %v", err)
	}
	// The key is removed before the eject, whatever the drive makes of its own promise to forget it.
	f.stuck = true
	if err := d.Unload(t.Context()); err == nil || f.key != "" {
		t.Errorf("the key is set after an unload that failed: %v", err)
	}
}

// A drive that takes a key and writes in clear is found out before the first block.
func TestADriveThatDoesNotEncrypt(t *testing.T) {
	_, _, tp := loaded(t, func(f *fakeDrive) { f.deaf = true })
	err := tp.SetKey(t.Context(), device.Key{Secret: make([]byte, device.KeySize)})
	if !errors.Is(err, errs.IO) || !strings.Contains(errs.RemedyOf(err), "application managed") {
		t.Errorf("%v, %s", err, errs.RemedyOf(err))
	}
}

// A key that a killed program left in the drive is gone with the next load, and with the close of the device.
func TestNoKeyIsLeftBehind(t *testing.T) {
	f, d, tp := loaded(t, func(f *fakeDrive) { f.key, f.name = "left behind", "old" })
	if f.key != "" {
		t.Error("the key of another program is set after a load")
	}
	write(t, tp, 80)
	if f.cartridge.objects[0].key != "" {
		t.Error("a block is encrypted with nobody's key")
	}
	key := device.Key{Secret: make([]byte, device.KeySize)}
	mustDo(t, tp.SetKey(t.Context(), key))
	again, err := d.Load(t.Context())
	if err != nil || f.key != "" {
		t.Errorf("after another load: %v", err)
	}
	mustDo(t, again.(*Tape).SetKey(t.Context(), key))
	mustDo(t, d.Close())
	if f.key != "" {
		t.Error("the key is set after a close")
	}
	// The drive was reset: it says so, and does nothing else.
	f, d, tp = loaded(t, nil)
	mustDo(t, tp.SetKey(t.Context(), key))
	f.attentions = []scsi.Sense{{Key: scsi.UnitAttention, ASC: 0x29}}
	_ = tp.ClearKey(t.Context())
	if _, err := d.Load(t.Context()); err != nil || f.key != "" {
		t.Errorf("a load after a reset: %v", err)
	}
}
