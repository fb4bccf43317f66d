package scsi

import (
	"encoding/binary"
	"fmt"

	"hemera/tape/device"
	"hemera/words/errs"
)

// Recommended access order: the host sends user data segments, and the drive answers with the same in an order that
// travels little (SSC-5, section 4.2.27).

const (
	orderAction = 0x1D // service action of both commands
	orderHeader = 8
	segmentSize = 32
	nameSize    = 10 // of a segment, in ASCII; here the index in decimal
	// SegmentsMax bounds what one order may have, whatever a device offers.
	SegmentsMax = 4000
)

// OrderLimits asks how many segments the drive takes.
func OrderLimits() Command {
	const limits, size = 0x80, 8 // bit UDS_LIMITS of byte 1
	c := receiveOrder(size)
	c.CDB[1] |= limits
	return c
}

// DecodeOrderLimits returns the number of segments and the largest size of a descriptor in bytes.
func DecodeOrderLimits(b []byte) (segments, size int, err error) {
	if len(b) < 4 {
		return 0, 0, short("RECEIVE RECOMMENDED ACCESS ORDER", len(b), 4)
	}
	return min(SegmentsMax, get16(b)), get16(b[2:]), nil
}

// GenerateOrder sends the segments, so that the drive computes an order for them from where the tape stands.
func GenerateOrder(segments []device.Segment) Command {
	const reorder = 2 // process: reorder the list
	out := make([]byte, orderHeader+segmentSize*len(segments))
	binary.BigEndian.PutUint32(out[4:], uint32(segmentSize*len(segments)))
	for i, s := range segments {
		d := out[orderHeader+segmentSize*i:][:segmentSize]
		binary.BigEndian.PutUint16(d, segmentSize-2) // the length does not count itself
		copy(d[5:5+nameSize], fmt.Sprintf("%-*d", nameSize, i))
		binary.BigEndian.PutUint64(d[16:], s.Begin)
		binary.BigEndian.PutUint64(d[24:], max(s.End, s.Begin+1)-1) // the last object, included
	}
	cdb := make([]byte, 12)
	cdb[0], cdb[1], cdb[2] = opMaintenanceOut, orderAction, reorder
	binary.BigEndian.PutUint32(cdb[6:], uint32(len(out)))
	return Command{Name: "GENERATE RECOMMENDED ACCESS ORDER", CDB: cdb, Direction: ToDevice, Out: out, Weight: Slow}
}

// ReceiveOrder asks for the order of n segments.
func ReceiveOrder(n int) Command { return receiveOrder(orderHeader + segmentSize*n) }

// receiveOrder returns the command for both answers; size is the most that comes back.
func receiveOrder(size int) Command {
	cdb := make([]byte, 12)
	cdb[0], cdb[1] = opMaintenanceIn, orderAction
	binary.BigEndian.PutUint32(cdb[6:], uint32(size))
	return Command{Name: "RECEIVE RECOMMENDED ACCESS ORDER", CDB: cdb, Direction: FromDevice, In: size, Weight: Slow}
}

// DecodeOrder returns the indexes of n segments in the order of the list. It fails with errs.Corrupt unless each of them is
// there once.
func DecodeOrder(b []byte, n int) ([]int, error) {
	if len(b) < orderHeader {
		return nil, short("RECEIVE RECOMMENDED ACCESS ORDER", len(b), orderHeader)
	}
	end := min(uint64(len(b)), orderHeader+uint64(binary.BigEndian.Uint32(b[4:])))
	order, seen := make([]int, 0, min(n, SegmentsMax)), make(map[int]bool, min(n, SegmentsMax))
	for rest := b[orderHeader:end]; len(rest) >= 2; {
		size := 2 + get16(rest)
		if size < 5+nameSize || size > len(rest) {
			break
		}
		var i int
		if _, err := fmt.Sscanf(text(rest[5:5+nameSize]), "%d", &i); err != nil || i < 0 || i >= n || seen[i] {
			return nil, errs.New(errs.Corrupt, "scsi.DecodeOrder", "RECEIVE RECOMMENDED ACCESS ORDER", "the drive named a segment that was not sent, or one twice")
		}
		order, seen[i] = append(order, i), true
		rest = rest[size:]
	}
	if len(order) != n {
		return nil, errs.New(errs.Corrupt, "scsi.DecodeOrder", "RECEIVE RECOMMENDED ACCESS ORDER",
			fmt.Sprintf("the drive ordered %d segments of %d", len(order), n))
	}
	return order, nil
}
