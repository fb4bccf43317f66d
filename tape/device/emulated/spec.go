package emulated

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hemera/tape/timing"
	"hemera/words/errs"
)

// Spec describes a new library. The zero value has 2 drives, 20 slots, a gate and 10 cartridges of LTO-9.
type Spec struct {
	Drives     int
	Slots      int
	Gates      int
	Cartridges int    // in the first slots; -1 for none
	Media      string // a name or suffix of tape/timing: "LTO-9"
	Capacity   int64  // of a cartridge in bytes; 0 for what the media has
	Prefix     string // of barcodes, "V" by default: V00001L9 is the first
}

// Limits of a library, so that a slip of the keyboard is an error.
const (
	drivesMax = 128
	slotsMax  = 20_000
	gatesMax  = addressDrive - addressGate
)

// layout is the content of library.json.
type layout struct {
	Format   int      `json:"format"` // 1
	Media    string   `json:"media"`
	Capacity int64    `json:"capacity"` // 0 for what the media of a barcode has
	Elements []holder `json:"elements"`
}

// holder is one element and the cartridge in it.
type holder struct {
	Address int    `json:"address"`
	Kind    uint8  `json:"kind"`
	Barcode string `json:"barcode,omitempty"`
	Source  int    `json:"source,omitempty"`
}

// Addresses of the first elements of each kind.
const (
	addressArm   = 1
	addressGate  = 16
	addressDrive = 256
	addressSlot  = 1024
)

const layoutName = "library.json"

// Check fails with Invalid if no library can be made of the spec, as Create would.
func (s Spec) Check() error {
	_, err := s.layout()
	return err
}

// Create makes the files of a library in a directory that has none; the
// directory itself too. errs.Exists if there is one.
func Create(dir string, spec Spec) error {
	l, err := spec.layout()
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(dir, layoutName))
	switch {
	case err == nil:
		return errs.New(errs.Exists, "emulated.Create", dir, "there is a library already").WithRemedy("Open it, or choose another directory.")
	case !errors.Is(err, fs.ErrNotExist):
		return errs.Wrap(err, "emulated.Create", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, cartridgesName), 0o750); err != nil {
		return errs.Wrap(err, "emulated.Create", dir)
	}
	return errs.Wrap(saveJSON(filepath.Join(dir, layoutName), l), "emulated.Create", dir)
}

// layout returns the library of a spec, with its defaults.
func (s Spec) layout() (l layout, err error) {
	// Defaults that are enough to try everything: a copy on each of two tapes,
	// and room to move.
	s.Drives, s.Slots, s.Gates = cmp.Or(s.Drives, 2), cmp.Or(s.Slots, 20), cmp.Or(s.Gates, 1)
	s.Cartridges = cmp.Or(s.Cartridges, min(10, s.Slots))
	s.Media, s.Prefix = cmp.Or(s.Media, "LTO-9"), cmp.Or(s.Prefix, "V")
	if s.Drives > drivesMax || s.Slots > slotsMax || s.Gates > gatesMax {
		return l, errs.New(errs.Invalid, "emulated.Create", "", fmt.Sprintf("at most %d drives, %d slots and %d gates", drivesMax, slotsMax, gatesMax))
	}
	// The suffix of the barcodes comes from the kind, as on real labels.
	m, ok := timing.MediaOfName(s.Media)
	if !ok {
		return l, errs.New(errs.Invalid, "emulated.Create", s.Media, "no such kind of cartridge").WithRemedy("Use one of LTO-7, M8, LTO-8, LTO-9, LTO-10.")
	}
	if s.Cartridges > s.Slots || s.Drives < 1 || s.Slots < 1 || s.Gates < 0 || s.Capacity < 0 {
		return l, errs.New(errs.Invalid, "emulated.Create", "", "a library has at least a drive and a slot, and a slot for each cartridge")
	}
	// The label of a tape has six characters for its name, of a small set (ECMA-13).
	digits := len(strconv.Itoa(s.Cartridges))
	if len(s.Prefix)+digits > 6 || strings.Trim(s.Prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return l, errs.New(errs.Invalid, "emulated.Create", s.Prefix,
			fmt.Sprintf("a prefix of barcodes has A to Z and 0 to 9, and with %d digits for the cartridges at most 6 characters", digits))
	}
	// In the order in which libraries report their elements: arm, gates, drives,
	// slots.
	l = layout{Format: 1, Media: m.Name, Capacity: s.Capacity}
	l.Elements = append(l.Elements, holder{Address: addressArm, Kind: 1})
	for i := range s.Gates {
		l.Elements = append(l.Elements, holder{Address: addressGate + i, Kind: 3})
	}
	for i := range s.Drives {
		l.Elements = append(l.Elements, holder{Address: addressDrive + i, Kind: 4})
	}
	for i := range s.Slots {
		h := holder{Address: addressSlot + i, Kind: 2}
		if i < s.Cartridges {
			h.Barcode = fmt.Sprintf("%s%0*d%s", s.Prefix, 6-len(s.Prefix), i+1, m.Suffix)
		}
		l.Elements = append(l.Elements, h)
	}
	return l, nil
}

// saveJSON replaces a file by one with this value. Readers see the old or the new
// one, also after a power cut of the machine.
func saveJSON(name string, value any) error {
	b, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	// A file beside it and a rename: a crash leaves one of the two, whole.
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync() // the rename must not be durable before the bytes are
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
