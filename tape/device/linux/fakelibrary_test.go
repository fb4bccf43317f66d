package linux

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
)

// fakeLibrary is the robot and what the drives answer to SG_IO.
type fakeLibrary struct {
	changer    string // its device
	drives     map[string]*fakeDrive
	order      []string // drives by element
	slots      []*fakeCartridge
	attentions []scsi.Sense
	noSerials  bool
}

// The elements of the library.
const (
	fakeArm    = 1
	firstSlot  = 0x400
	firstDrive = 0x100
)

// newFakeLibrary has two drives, the first with a cartridge, and four slots, the first two with cartridges.
func newFakeLibrary() *fakeLibrary {
	return &fakeLibrary{changer: "/dev/sg3", order: []string{"/dev/nst0", "/dev/nst1"},
		drives: map[string]*fakeDrive{
			"/dev/nst0": {serial: "1013000123", cartridge: &fakeCartridge{barcode: "V00001L9"}, source: firstSlot + 2},
			"/dev/nst1": {serial: "1013000124"}},
		slots: []*fakeCartridge{{barcode: "V00002L9"}, {barcode: "V00003L9"}, nil, nil}}
}

// command runs one command of SG_IO and fills the header.
func (l *fakeLibrary) command(path string, h *header) {
	cdb := unsafe.Slice((*byte)(h.Command), h.CommandSize)
	var data []byte
	if h.Size > 0 {
		data = unsafe.Slice((*byte)(h.Data), h.Size)
	}
	var answer []byte
	var s scsi.Sense
	if d := l.drives[path]; d != nil {
		answer, s = d.command(cdb, data)
	} else {
		answer, s = l.robot(cdb)
	}
	if h.Direction == directionFrom {
		h.Rest = int32(len(data) - copy(data, answer))
	}
	if s != (scsi.Sense{}) {
		h.Status = statusCheck
		h.SenseSize = uint8(copy(unsafe.Slice((*byte)(h.Sense), h.SenseMax), s.Fixed()))
	}
}

func illegal() scsi.Sense { return scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x20} }

func inquiry(kind byte, product, serial string, page byte) []byte {
	if page != 0 {
		return append([]byte{kind, 0x80, 0, byte(len(serial))}, serial...)
	}
	b := append([]byte{kind, 0x80, 6, 2, 69, 0, 0, 0}, bytes.Repeat([]byte{' '}, 28)...)
	copy(b[8:], "HEMERA")
	copy(b[16:], product)
	copy(b[32:], "0001")
	return b
}

// command answers a command to a drive.
func (d *fakeDrive) command(cdb, data []byte) ([]byte, scsi.Sense) {
	if cdb[0] == 0x12 {
		b := inquiry(scsi.TypeTape, "FAKE-TD9", d.serial, cdb[2])
		if cdb[1] == 0 && !d.noFeatures {
			b[5] = 1
		}
		return b, scsi.Sense{}
	}
	if a := d.attention(); a != nil {
		return nil, *a
	}
	switch {
	case d.cartridge == nil:
		return nil, scsi.Sense{Key: scsi.NotReady, ASC: 0x3A}
	case d.needsLoad && cdb[0] != 0x1B:
		return nil, scsi.Sense{Key: scsi.NotReady, ASC: 0x04, ASCQ: 2}
	case d.notReady > 0:
		d.notReady--
		return nil, scsi.Sense{Key: scsi.NotReady, ASC: 0x04, ASCQ: 1}
	}
	if answer, s, done := d.motion(cdb, len(data)); done {
		return answer, s
	}
	if d.noFeatures {
		switch cdb[0] {
		case 0xA2, 0xA3, 0xA4, 0xB5:
			return nil, illegal()
		}
	}
	return d.control(cdb, data)
}

// motion answers commands about the tape.
func (d *fakeDrive) motion(cdb []byte, size int) ([]byte, scsi.Sense, bool) {
	var s scsi.Sense
	switch cdb[0] {
	case 0x00:
	case 0x08:
		block, s := d.read(size)
		return block, s, true
	case 0x11:
		if cdb[1] == 3 {
			d.at = len(d.cartridge.objects)
		} else {
			s = d.space(int(int32(uint32(cdb[2])<<24|uint32(cdb[3])<<16|uint32(cdb[4])<<8)) >> 8)
		}
	case 0x1B:
		if cdb[4] == 0 && d.stuck {
			return nil, scsi.Sense{Key: scsi.HardwareError, ASC: 0x53}, true
		}
		d.needsLoad = cdb[4] == 0
		d.at, d.key, d.name, d.buffered = 0, "", "", 0
	case 0x2B, 0x92:
		object := uint64(binary.BigEndian.Uint32(cdb[3:]))
		if cdb[0] == 0x92 {
			object = binary.BigEndian.Uint64(cdb[4:])
		}
		d.at = int(min(object, uint64(len(d.cartridge.objects))))
		if object > uint64(len(d.cartridge.objects)) {
			s = scsi.Sense{Key: scsi.BlankCheck, ASCQ: 5}
		}
	case 0x34:
		return d.position(cdb[1]), s, true
	default:
		return nil, s, false
	}
	return nil, s, true
}

func (d *fakeDrive) position(form byte) []byte {
	var flags byte
	if d.at == 0 {
		flags |= 0x80
	}
	if d.early() {
		flags |= 0x40
	}
	if form == 0 {
		b := make([]byte, 20)
		b[0], b[15] = flags, byte(d.buffered)
		binary.BigEndian.PutUint32(b[4:], uint32(d.at))
		return b
	}
	b := make([]byte, 32)
	b[0] = flags
	binary.BigEndian.PutUint64(b[8:], uint64(d.at))
	return b
}

// control answers commands about the drive.
func (d *fakeDrive) control(cdb, data []byte) ([]byte, scsi.Sense) {
	switch cdb[0] {
	case 0x1A:
		b := []byte{0, 0, 0x10, 8, 0x60, 0, 0, 0, 0, 0, 0, 0}
		if d.cartridge.protected {
			b[2] |= 0x80
		}
		if cdb[2] == 0x0A {
			if d.noFeatures {
				return nil, scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x24}
			}
			page := make([]byte, 32)
			copy(page, []byte{0x8A, 0xF0, 0, 28, d.protection.Method, byte(d.protection.Length)})
			if d.protection.Write {
				page[6] |= 0x80
			}
			if d.protection.Read {
				page[6] |= 0x40
			}
			b = append(b, page...)
		}
		b[0] = byte(len(b) - 1)
		return b, scsi.Sense{}
	case 0x15:
		p := data[12:]
		d.protection = scsi.Protection{Method: p[4], Length: int(p[5]), Write: p[6]&0x80 != 0, Read: p[6]&0x40 != 0}
	case 0x4D:
		return d.log(cdb[2] & 0x3F), scsi.Sense{}
	case 0xA2:
		return d.security(cdb[3]), scsi.Sense{}
	case 0xB5:
		d.key, d.name = "", ""
		if rest := data[20:]; data[6] == 2 && !d.deaf {
			d.key, rest = string(rest[:data[19]]), rest[data[19]:]
			if len(rest) > 4 {
				d.name = string(rest[4:])
			}
		}
	case 0xA4:
		d.order = append([]byte{}, data...)
	case 0xA3:
		if cdb[1]&0x80 != 0 {
			return []byte{0, 100, 0, 32, 0, 0, 0, 0}, scsi.Sense{}
		}
		return d.ordered(), scsi.Sense{}
	default:
		return nil, illegal()
	}
	return nil, scsi.Sense{}
}

// security returns a page of SECURITY PROTOCOL IN.
func (d *fakeDrive) security(page byte) []byte {
	switch page {
	case 0x20:
		b := []byte{0, 0x20, 0, 4, 0x21, 0, 0, 1}
		if d.key != "" {
			b[5], b[6] = 2, 3
		}
		return b
	case 0x21:
		name := d.cartridge.objects[d.at].name
		b := append(make([]byte, 16), 0, 0, 0, byte(len(name)))
		b[1], b[3], b[12] = 0x21, byte(16+len(name)), 6
		return append(b, name...)
	}
	b := append(make([]byte, 20), 1, 0, 0, 20, 0x0A, 0, 0, 32, 0, 60, 0, 32)
	b[1], b[3] = 0x10, 40
	return append(b, make([]byte, 12)...)
}

// ordered sorts the segments by their begin.
func (d *fakeDrive) ordered() []byte {
	segments := slices.Collect(slices.Chunk(d.order[8:], 32))
	slices.SortFunc(segments, func(a, b []byte) int { return bytes.Compare(a[16:24], b[16:24]) })
	return append(append([]byte{}, d.order[:8]...), slices.Concat(segments...)...)
}

func (d *fakeDrive) log(page byte) []byte {
	b := []byte{page, 0, 0, 0}
	switch page {
	case scsi.LogAlerts:
		for _, a := range d.alerts {
			b = append(b, 0, byte(a), 0x60, 1, 1)
		}
		d.alerts = nil
	case scsi.LogReadErrors, scsi.LogWriteErrors:
		b = binary.BigEndian.AppendUint32(append(b, 0, 3, 0x60, 4), d.corrected)
	case scsi.LogVolume:
		b = append(b, 0, 1, 0x03, 1, 42)
	}
	b[3] = byte(len(b) - 4)
	return b
}

// robot answers a command to the changer.
func (l *fakeLibrary) robot(cdb []byte) ([]byte, scsi.Sense) {
	if cdb[0] == 0x12 {
		return inquiry(scsi.TypeChanger, "FAKE-LIB", "LIB0001", cdb[2]), scsi.Sense{}
	}
	if len(l.attentions) > 0 {
		s := l.attentions[0]
		l.attentions = l.attentions[1:]
		return nil, s
	}
	switch cdb[0] {
	case 0x1A:
		b := append([]byte{23, 0, 0, 0, 0x1D, 18}, make([]byte, 18)...)
		for i, r := range []scsi.Range{{First: fakeArm, Count: 1}, {First: firstSlot, Count: len(l.slots)}, {}, {First: firstDrive, Count: len(l.order)}} {
			binary.BigEndian.PutUint16(b[6+4*i:], uint16(r.First))
			binary.BigEndian.PutUint16(b[8+4*i:], uint16(r.Count))
		}
		return b, scsi.Sense{}
	case 0xB8:
		return l.status(device.ElementKind(cdb[1]&0xF), cdb[6]&1 != 0)
	case 0xA5:
		return nil, l.carry(int(binary.BigEndian.Uint16(cdb[4:])), int(binary.BigEndian.Uint16(cdb[6:])))
	}
	return nil, illegal()
}

// status answers READ ELEMENT STATUS for all elements of a kind.
func (l *fakeLibrary) status(kind device.ElementKind, serials bool) ([]byte, scsi.Sense) {
	if serials && l.noSerials {
		return nil, scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x24}
	}
	var all []byte
	size := 48
	add := func(address int, c *fakeCartridge, source int, serial string) {
		d := make([]byte, 48)
		binary.BigEndian.PutUint16(d, uint16(address))
		if c != nil {
			d[2] = 1
			copy(d[12:], c.barcode)
		}
		if source != 0 {
			d[9] = 0x80
			binary.BigEndian.PutUint16(d[10:], uint16(source))
		}
		if serials {
			d = append(append(d, 2, 0, 0, byte(len(serial))), serial...)
		}
		size = len(d)
		all = append(all, d...)
	}
	switch kind {
	case device.ElementArm:
		add(fakeArm, nil, 0, "")
	case device.ElementSlot:
		for i, c := range l.slots {
			add(firstSlot+i, c, 0, "")
		}
	case device.ElementDrive:
		for i, path := range l.order {
			d := l.drives[path]
			add(firstDrive+i, d.cartridge, d.source, d.serial)
		}
	}
	page := []byte{byte(kind), 0x80, 0, byte(size), 0, 0, byte(len(all) >> 8), byte(len(all))}
	page = append(page, all...)
	return append([]byte{0, 0, 0, 0, 0, 0, byte(len(page) >> 8), byte(len(page))}, page...), scsi.Sense{}
}

// carry answers MOVE MEDIUM.
func (l *fakeLibrary) carry(from, to int) scsi.Sense {
	place := func(address int) (**fakeCartridge, *fakeDrive) {
		if address >= firstSlot {
			return &l.slots[address-firstSlot], nil
		}
		d := l.drives[l.order[address-firstDrive]]
		return &d.cartridge, d
	}
	source, taken := place(from)
	target, given := place(to)
	switch {
	case *source == nil:
		return scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x3B, ASCQ: 0x0E}
	case *target != nil:
		return scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x3B, ASCQ: 0x0D}
	case taken != nil && !taken.needsLoad: // not unloaded
		return scsi.Sense{Key: scsi.IllegalRequest, ASC: 0x53, ASCQ: 3}
	}
	*target, *source = *source, nil
	if taken != nil {
		taken.source, taken.needsLoad = 0, false
	}
	if given != nil {
		given.source, given.at = from, 0
		given.attentions = append(given.attentions, scsi.Sense{Key: scsi.UnitAttention, ASC: 0x28})
		given.notReady = 2
	}
	return scsi.Sense{}
}
