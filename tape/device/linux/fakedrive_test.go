package linux

import (
	"encoding/binary"
	"hash/crc32"

	"hemera/tape/device/scsi"
)

// fakeObject is a block, or a filemark where the block is nil.
type fakeObject struct {
	block []byte
	key   string // that it was encrypted with
	name  string // of the key
	bad   bool   // cannot be read
}

// fakeCartridge has the objects of a cartridge.
type fakeCartridge struct {
	barcode   string
	objects   []fakeObject
	protected bool
	capacity  int // bytes until the early warning; a tenth more is there; 0 without bound
}

// fakeDrive is a drive as its commands see it.
type fakeDrive struct {
	serial    string
	cartridge *fakeCartridge
	source    int // element that the cartridge came from
	st        stState
	at        int // the object that the tape stands before
	buffered  int

	defaultBlockSize int
	fixedOnly        bool // it refuses variable blocks
	notReady         int  // answers "becoming ready" that are left
	needsLoad        bool
	stuck            bool // unload fails
	attentions       []scsi.Sense
	alerts           []int
	writesBehind     bool // st writes behind the back of the program, as it does with blocks that are not aligned in memory
	noFeatures       bool // no protection, no encryption, no order

	protection scsi.Protection
	key, name  string
	deaf       bool   // it takes keys and does not encrypt
	order      []byte // descriptors as the host sent them
	corrected  uint32
}

// attention takes the oldest unit attention, nil without.
func (d *fakeDrive) attention() *scsi.Sense {
	if len(d.attentions) == 0 {
		return nil
	}
	s := d.attentions[0]
	d.attentions = d.attentions[1:]
	return &s
}

func (d *fakeDrive) used() (n int) {
	for _, o := range d.cartridge.objects {
		n += len(o.block)
	}
	return n
}

func (d *fakeDrive) early() bool { return d.cartridge.capacity > 0 && d.used() >= d.cartridge.capacity }

// read answers READ(6) of one block.
func (d *fakeDrive) read(size int) ([]byte, scsi.Sense) {
	if d.at >= len(d.cartridge.objects) {
		return nil, scsi.Sense{Key: scsi.BlankCheck, ASCQ: 5}
	}
	o := d.cartridge.objects[d.at]
	switch {
	case o.block == nil:
		d.at++
		return nil, scsi.Sense{FileMark: true, ASCQ: 1, Valid: true, Rest: int64(size)}
	case o.bad:
		return nil, scsi.Sense{Key: scsi.MediumError, ASC: 0x11}
	case o.key != "" && o.key != d.key:
		return nil, scsi.Sense{Key: scsi.DataProtect, ASC: 0x74, ASCQ: 2}
	}
	d.at++
	block := o.block
	if d.protection.Read {
		block = binary.LittleEndian.AppendUint32(append([]byte{}, block...), crc32.Checksum(block, castagnoli()))
	}
	if len(block) > size {
		return nil, scsi.Sense{WrongSize: true, Valid: true, Rest: int64(size - len(block))}
	}
	return block, scsi.Sense{WrongSize: len(block) < size, Valid: true, Rest: int64(size - len(block))}
}

// write answers WRITE(6) of one block.
func (d *fakeDrive) write(b []byte) scsi.Sense {
	if d.protection.Write {
		n := len(b) - 4
		if n <= 0 || crc32.Checksum(b[:n], castagnoli()) != binary.LittleEndian.Uint32(b[n:]) {
			return scsi.Sense{Key: scsi.Aborted, ASC: 0x10, ASCQ: 1}
		}
		b = b[:n]
	}
	if c := d.cartridge.capacity; c > 0 && d.used()+len(b) > c+c/10 {
		return scsi.Sense{Key: scsi.VolumeOverflow, EndOfTape: true, ASCQ: 2}
	}
	d.put(fakeObject{block: append([]byte{}, b...), key: d.key, name: d.name})
	return scsi.Sense{EndOfTape: d.early()}
}

func (d *fakeDrive) put(o fakeObject) {
	d.cartridge.objects = append(d.cartridge.objects[:d.at], o)
	d.at++
	d.buffered++
}

func (d *fakeDrive) marks(n int) {
	for range n {
		d.put(fakeObject{})
	}
}

// space goes over filemarks.
func (d *fakeDrive) space(n int) scsi.Sense {
	for ; n > 0; d.at++ {
		if d.at >= len(d.cartridge.objects) {
			return scsi.Sense{Key: scsi.BlankCheck, ASCQ: 5}
		}
		if d.cartridge.objects[d.at].block == nil {
			n--
		}
	}
	for n < 0 {
		if d.at == 0 {
			return scsi.Sense{EndOfTape: true, ASCQ: 4}
		}
		d.at--
		if d.cartridge.objects[d.at].block == nil {
			n++
		}
	}
	return scsi.Sense{}
}
