package server

import (
	"slices"
	"strings"

	"hemera/tape/device"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// element is a place of the library, with what its barcode says.
type element struct {
	device.Element
	vid   hemera.VID // [unknownTape] of a cartridge without a readable barcode, "" where none is
	media string     // media type, "" where the barcode has none
}

// shelves is one inventory of a library. Its methods are pure.
type shelves []element

// shelve reads the barcodes of an inventory. A barcode is the VID and two characters for the media type; one without a known type is the VID as it
// is. Cleaning cartridges have no media type.
func shelve(list []device.Element) shelves {
	// The media types are those of the LTO program; a site's own types do not change what barcodes say.
	suffixes := map[string]string{}
	for name, m := range tapeconfig.Defaults().Media {
		suffixes[m.Suffix] = name
	}
	s := make(shelves, len(list))
	for i, e := range list {
		s[i].Element = e
		switch n := len(e.Barcode) - 2; {
		case !e.Full:
		case e.Barcode == "":
			s[i].vid = unknownTape
		// What is read off a label that nobody knows is still a name.
		// Suffixes are printed in capitals, but typed barcodes are not always.
		case n > 0 && suffixes[strings.ToUpper(e.Barcode[n:])] != "":
			s[i].vid, s[i].media = hemera.VID(e.Barcode[:n]), suffixes[strings.ToUpper(e.Barcode[n:])]
		default:
			s[i].vid = hemera.VID(e.Barcode)
		}
	}
	return s
}

// vids returns the tapes of the library, with their media types. Cleaning cartridges, and what stands in a gate, are not.
func (s shelves) vids() map[hemera.VID]string {
	list := map[hemera.VID]string{}
	for _, e := range s {
		if e.Full && e.vid != unknownTape && e.Kind != device.ElementGate && !strings.HasPrefix(e.Barcode, "CLN") {
			list[e.vid] = e.media
		}
	}
	return list
}

// capacities returns the capacities of the tapes, as far as the library tells them.
func (s shelves) capacities() map[hemera.VID]int64 {
	list := map[hemera.VID]int64{}
	for _, e := range s {
		if e.vid != "" && e.Capacity > 0 {
			list[e.vid] = e.Capacity
		}
	}
	return list
}

// find returns the element that has the cartridge. NotFound.
func (s shelves) find(vid hemera.VID) (element, error) {
	for _, e := range s {
		if e.vid == vid && vid != unknownTape {
			return e, nil
		}
	}
	return element{}, errs.New(errs.NotFound, "tape.Fetch", string(vid), "no cartridge with this barcode is in the library").
		WithRemedy("put the cartridge into the library, or set the state of its tape to EXPORTED")
}

// drive returns the element of a drive: the one with its serial number or, where the library tells none, the one at its place in order. NotFound.
func (s shelves) drive(serial string, place int) (element, error) {
	bare := func(number string) string { return strings.TrimLeft(number, "0") } // some libraries pad with zeros
	var drives shelves                                                          // in the order of their addresses
	for _, e := range s {
		if e.Kind != device.ElementDrive {
			continue
		}
		if serial != "" && bare(e.Serial) == bare(serial) {
			return e, nil
		}
		drives = append(drives, e)
	}
	// Where serial numbers are told, a drive without its own among them is a mistake of the set-up, and guessing would load the wrong drive.
	told := slices.ContainsFunc(drives, func(e element) bool { return e.Serial != "" })
	if place >= len(drives) || told && serial != "" {
		return element{}, errs.New(errs.NotFound, "tape.Fetch", serial, "the library has no such drive").
			WithRemedy("compare the serial numbers of the drives with those that the changer reports")
	}
	return drives[place], nil
}

// home chooses the slot that a cartridge in a drive goes to: where it came from or, when that is taken or not known, the first free one. NoSpace.
func (s shelves) home(from element, remembered int) (int, error) {
	// Its own slot, so that people find cartridges where they put them.
	free := 0
	for _, e := range s {
		if e.Kind != device.ElementSlot || e.Full || e.Why != "" {
			continue
		}
		if e.Address == from.Source || from.Source == 0 && e.Address == remembered {
			return e.Address, nil
		}
		if free == 0 {
			free = e.Address
		}
	}
	if free == 0 {
		return 0, errs.New(errs.NoSpace, "tape.PutBack", from.Barcode, "the library has no free slot").
			WithRemedy("take a cartridge out of the library")
	}
	return free, nil
}
