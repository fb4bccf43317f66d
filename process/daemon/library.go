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

// library has the devices of a tape library, real or emulated.
type library struct {
	changer device.Changer
	drives  []device.Drive
	open    []io.Closer // closed by close
}

// openLibrary opens the devices. It makes an emulated library if there is none; for a real one see [linux.OpenChanger].
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
	// The changer first: a mistake in its name is noticed before a drive is taken away from another program.
	c, err := linux.OpenChanger(ctx, o.Changer)
	if err != nil {
		return nil, err
	}
	l.changer, l.open = c, append(l.open, c)
	// A drive that another program has open would not be usable later either, so it is an error now.
	for _, path := range o.Drives {
		d, err := linux.OpenDrive(ctx, path)
		if err != nil {
			return nil, err
		}
		l.drives, l.open = append(l.drives, d), append(l.open, d)
	}
	return l, nil
}

// openEmulated opens an emulated library, and makes it if there is none.
func openEmulated(o *TapeOptions, log *slog.Logger) (*emulated.Library, error) {
	// The Spec of an existing library is ignored: its cartridges may have files.
	scale := 0.0 // without delays
	// A second of a real device takes the inverse of the speed.
	if o.Speed > 0 {
		scale = 1 / float64(o.Speed)
	}
	l, err := emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
	// This includes Locked, if another process has it: making a new one would not help.
	if !errors.Is(err, errs.NotFound) {
		return l, err
	}
	if err := emulated.Create(o.Dir, o.Spec); err != nil {
		return nil, err
	}
	log.Info("made an emulated tape library", "directory", o.Dir)
	return emulated.Open(o.Dir, emulated.Options{TimeScale: scale})
}

// mediaOf returns the media types that a drive writes, and those that it also reads, by the product name that it reports:
// IBM's ULT3580-TD9 and ULTRIUM-HH9, or Ultrium 9-SCSI of others. A drive without a generation, such as an emulated one,
// accepts all; unusable media fail at the load. Generations follow the compatibility table of the LTO program.
func mediaOf(product string) (writes, reads []string) {
	generation := regexp.MustCompile(`(?i)(?:-TD|-HH|-HD|ULTRIUM )(\d+)`).FindStringSubmatch(product)
	if generation != nil {
		// LTO-8 and LTO-9 write their own generation and the one before, LTO-10 only its own.
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

// ParseEmulation reads the description of an emulated library, such as
// "drives=2,slots=40,cartridges=30,media=LTO-9,capacity=4000000000". It fails with Invalid if the text cannot be read, or
// no library can be made of it.
func ParseEmulation(text string) (s emulated.Spec, err error) {
	// The library cannot be changed later, so a typing error is an error.
	pair := regexp.MustCompile(`^([a-z]+)=([A-Za-z0-9-]+)$`)
	for part := range strings.SplitSeq(text, ",") {
		m := pair.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return s, badEmulation(text, "it is no list of NAME=VALUE")
		}
		// Only the media and the prefix are not numbers.
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
	// Check now, and not when the library is made: by then a node has used up its token.
	if err := s.Check(); err != nil {
		bad := badEmulation(text, errs.Reason(err, ""))
		return s, bad.WithRemedy(cmp.Or(errs.RemedyOf(err), bad.Remedy))
	}
	return s, nil
}

// badEmulation returns the error for a description that cannot be read.
func badEmulation(text, why string) *errs.Error {
	return errs.New(errs.Invalid, "daemon.ParseEmulation", text, why).
		WithRemedy("name drives, slots, gates, cartridges, capacity (bytes of one cartridge), media or prefix (of barcodes), such as drives=2,slots=40,media=LTO-9")
}
