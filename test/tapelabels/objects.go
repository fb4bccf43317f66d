package tapelabels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Object is one object of a tape: a filemark, or a block. A block without bytes could not be read.
type Object struct {
	Mark  bool
	Block []byte
}

// Image reads an image in SIMH's format: before and behind each block its length as four bytes, low byte first, blocks padded to an even length; a
// length of 0 is a filemark.
func Image(image []byte) (objects []Object, err error) {
	for r := bytes.NewReader(image); r.Len() > 0; {
		var length, again uint32
		if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
			return nil, errDamaged
		}
		if length == 0 {
			objects = append(objects, Object{Mark: true})
			continue
		}
		if int64(length)+int64(length%2) > int64(r.Len()) {
			return nil, errDamaged
		}
		block := make([]byte, length+length%2)
		_, _ = io.ReadFull(r, block) // the bytes are there
		if err := binary.Read(r, binary.LittleEndian, &again); err != nil || again != length {
			return nil, errDamaged
		}
		objects = append(objects, Object{Block: block[:length]})
	}
	return objects, nil
}

var errDamaged = errors.New("the image is damaged: it is cut off, or two lengths of a block differ")

const (
	recordSize  = 48 // of an object in BARCODE.index
	kindMark    = 2
	repeated    = 8 // the flag of a block in which each page of 4 KiB repeats one byte: the file has one byte for each page
	repeatedRun = 4096
)

// Cartridge reads a cartridge of the emulated library: stem is LIBRARY/cartridges/BARCODE. BARCODE.index has 48 bytes for each object: kind (1 block,
// 2 filemark), flags, two zeros, length and stored bytes; the place in BARCODE.data is at byte 32. Blocks that the data file does not have, and
// blocks that are encrypted or were not stored, have no bytes.
func Cartridge(stem string) (objects []Object, err error) {
	index, err := os.ReadFile(stem + ".index")
	if err != nil {
		return nil, err
	}
	// A tape server that writes just now adds data before records, so the records are read first.
	data, err := os.ReadFile(stem + ".data")
	if err != nil {
		return nil, err
	}
	for ; len(index) >= recordSize; index = index[recordSize:] {
		objects = append(objects, object(index[:recordSize], data))
	}
	return objects, nil
}

// object returns the object of one record.
func object(record, data []byte) Object {
	kind, flags := record[0], record[1]
	length, stored := binary.LittleEndian.Uint32(record[4:]), uint64(binary.LittleEndian.Uint32(record[8:]))
	place := binary.LittleEndian.Uint64(record[32:])
	if kind == kindMark {
		return Object{Mark: true}
	}
	if place > uint64(len(data)) || stored > uint64(len(data))-place || flags != 0 && flags != repeated {
		return Object{}
	}
	block := data[place : place+stored]
	if flags == repeated {
		var whole []byte
		for _, b := range block {
			whole = append(whole, bytes.Repeat([]byte{b}, repeatedRun)...)
		}
		block = whole[:min(len(whole), int(length))]
	}
	if len(block) != int(length) {
		return Object{}
	}
	return Object{Block: block}
}
