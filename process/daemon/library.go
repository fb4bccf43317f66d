package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"hemera/tape/device"
	"hemera/tape/device/emulated"
	"hemera/tape/device/linux"
	"hemera/tape/timing"
	"hemera/words/errs"
)

// library is the devices of a tape library, real or emulated.
type library struct {
	changer device.Changer
	drives  []device.Drive
	open    []io.Closer // what close closes
}

// openLibrary opens the devices. An emulated library is made first if there is none; for a real one see [linux.OpenChanger].
func openLibrary(ctx context.Context, o *TapeOptions, log *slog.Logger) (*library, error) {
	if o.Changer != "" {
		return openDevices(ctx, o)
	}
	l, err := openEmulated(o, log)
	if err != nil {
		return nil, err
	}
	return &library{l.Changer(), l.Drives(), []io.Closer{l}}, nil
}

// close releases all devices. Cartridges stay where they are.
func (l *library) close() {
	for _, c := range l.open {
		_ = c.Close()
	}
}

// openDevices opens a real library.
func openDevices(ctx context.Context, o *TapeOptions) (l *library, err error) {
	l = &library{}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	// The changer first: a mistake in its name is noticed before a drive is taken from somebody else.
	c, err := linux.OpenChanger(ctx, o.Changer)
	if err != nil {
		return nil, err
	}
	l.changer, l.open = c, append(l.open, c)
	// A drive that another program has open cannot be used later either, so that is an error now.
	for _, path := range o.Drives {
		d, err := linux.OpenDrive(ctx, path)
		if err != nil {
			return nil, err
		}
		l.drives, l.open = append(l.drives, d), append(l.open, d)
	}
	return l, nil
}

// openEmulated opens an emulated library, and makes it first if there is none.
func openEmulated(o *TapeOptions, log *slog.Logger) (*emulated.Library, error) {
	// Spec of a library that is there already is not looked at: its cartridges may have files.
	scale := 0.0 // nobody waits
	// A second of a device takes the inverse of the speed.
	if o.Speed > 0 {
		scale = 1 / float64(o.Speed)
	}
	l, err := emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
	// Also Locked, if another process has it: making a new one would be no help.
	if !errors.Is(err, errs.NotFound) {
		return l, err
	}
	if err := emulated.Create(o.Dir, o.Spec); err != nil {
		return nil, err
	}
	log.Info("made an emulated tape library", "directory", o.Dir)
	return emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
}

// mediaOf says which media types a drive writes, and which it reads besides, by the product that it names itself: IBM's ULT3580-TD9 and
// ULTRIUM-HH9, or Ultrium 9-SCSI of others. A drive that says no generation, such as an emulated one, takes all; what it cannot use fails at
// the load. Generations follow the compatibility table of the LTO program.
func mediaOf(product string) (writes, reads []string) {
	generation := regexp.MustCompile(`(?i)(?:-TD|-HH|-HD|ULTRIUM )(\d+)`).FindStringSubmatch(product)
	if generation != nil {
		// LTO-8 and LTO-9 take their own generation and the one before, LTO-10 takes its own alone.
		switch generation[1] {
		case "7":
			return []string{"LTO-7"}, nil
		case "8":
			return []string{"LTO-8", "LTO-7 M8", "LTO-7"}, nil
		case "9":
			return []string{"LTO-9", "LTO-8"}, nil
		case "10":
			return []string{"LTO-10"}, nil
		}
	}
	for _, m := range timing.Medias() {
		writes = append(writes, m.Name)
	}
	return writes, nil
}

// ParseEmulation reads what an emulated library is to have, such as "drives=2,slots=40,cartridges=30,media=LTO-9,capacity=4000000000". It fails
// with Invalid if the text cannot be read, or no library can be made of it.
func ParseEmulation(text string) (s emulated.Spec, err error) {
	// Nothing of a library can be changed by this later, so a slip of the keyboard is an error.
	pair := regexp.MustCompile(`^([a-z]+)=([A-Za-z0-9-]+)$`)
	for part := range strings.SplitSeq(text, ",") {
		m := pair.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return s, badEmulation(text, "it is no list of NAME=VALUE")
		}
		// The media and the prefix are the only values that are no numbers.
		number, bad := strconv.ParseInt(m[2], 10, 64)
		switch m[1] {
		case "drives":
			s.Drives = int(number)
		case "slots":
			s.Slots = int(number)
		case "gates":
			s.Gates = int(number)
		case "cartridges":
			s.Cartridges = int(number)
		case "capacity":
			s.Capacity = number
		case "media":
			s.Media, bad = m[2], nil
		case "prefix":
			s.Prefix, number, bad = m[2], 0, nil // a prefix may be a number
		default:
			return s, badEmulation(text, "nothing is called "+m[1])
		}
		if bad != nil || number < 0 {
			return s, badEmulation(text, m[2]+" is no number")
		}
	}
	// Now, and not when the library is made: a node has used up its token by then.
	if err := s.Check(); err != nil {
		bad := badEmulation(text, errs.Reason(err, ""))
		return s, bad.WithRemedy(cmp.Or(errs.RemedyOf(err), bad.Remedy))
	}
	return s, nil
}

// badEmulation is the error of a description that cannot be read.
func badEmulation(text, why string) *errs.Error {
	return errs.New(errs.Invalid, "daemon.ParseEmulation", text, why).
		WithRemedy("name drives, slots, gates, cartridges, capacity (bytes of one cartridge), media or prefix (of barcodes), such as drives=2,slots=40,media=LTO-9")
}
