package tapeconfig

import (
	"fmt"
	"strings"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// vidMax is the length of a volume serial number in the label VOL1 (ECMA-13).
const vidMax = 6

// CheckVID says why a text is not a VID, nil if it is one: 1 to 6 capital letters and digits.
func CheckVID(vid hemera.VID) error {
	// ASCII as in the label, where lower case is not allowed.
	ok := vid != "" && len(vid) <= vidMax
	for _, r := range vid {
		ok = ok && ('A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}
	if ok {
		return nil
	}
	return errs.New(errs.Invalid, "tapeconfig.CheckVID", string(vid), fmt.Sprintf("a VID has 1 to %d capital letters and digits", vidMax))
}

// Barcode returns the VID and the media type that a barcode stands for: the first six characters, and by the last two of eight. media is ""
// if no type has the suffix. Invalid if the VID would be none.
func (c Config) Barcode(barcode string) (vid hemera.VID, media string, err error) {
	vid = hemera.VID(strings.TrimSpace(barcode))
	// Other lengths have no suffix: libraries can be set to leave it out.
	if len(vid) == vidMax+2 {
		suffix := string(vid[vidMax:])
		vid = vid[:vidMax]
		for _, name := range sortedNames(c.Media) {
			if c.Media[name].Suffix == suffix {
				media = name
			}
		}
	}
	return vid, media, CheckVID(vid)
}

// CheckTape says what makes no sense in a tape, nil if all does: its VID, and what it refers to. Libraries need no object.
func (c Config) CheckTape(t tapeapi.Tape) error {
	const op = "tapeconfig.CheckTape"
	if err := CheckVID(t.VID); err != nil {
		return err
	}
	if _, there := c.Media[t.MediaType]; !there {
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("there is no media type %q", t.MediaType)).
			WithRemedy("take one of these: " + keyList(c.Media))
	}
	// A tape in no pool would never be written, and nobody would be told.
	if _, there := c.Pools[string(t.Pool)]; !there {
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("there is no tape pool %q", t.Pool)).
			WithRemedy("add it: hemera tape pool add " + string(t.Pool))
	}
	if _, there := c.Keys[t.Key]; t.Key != "" && !there {
		return errs.New(errs.Invalid, op, string(t.VID), fmt.Sprintf("there is no encryption key %q", t.Key)).
			WithRemedy("add it: hemera tape key add " + t.Key)
	}
	if t.Capacity < 0 || t.Occupancy < 0 {
		return errs.New(errs.Invalid, op, string(t.VID), "sizes must not be negative")
	}
	return nil
}
