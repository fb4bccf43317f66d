package wire

// Write is kXR_write; its payload is the data.
type Write struct {
	Handle Handle
	Offset int64
	Path   uint8
}

// ID returns ReqWrite.
func (Write) ID() RequestID { return ReqWrite }

// Body encodes the fixed part.
func (r Write) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	be.PutUint64(p[4:], uint64(r.Offset))
	p[12] = r.Path
	return p
}

// DecodeWrite reads the fixed part.
func DecodeWrite(p [16]byte) Write { return Write{Handle(p[:4]), int64(be.Uint64(p[4:])), p[12]} }

// Pgwrite is kXR_pgwrite; its payload is page fragments, each after its CRC32C.
type Pgwrite struct {
	Handle Handle
	Offset int64
	Path   uint8
	Flags  uint8
}

// ID returns ReqPgwrite.
func (Pgwrite) ID() RequestID { return ReqPgwrite }

// Body encodes the fixed part.
func (r Pgwrite) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	be.PutUint64(p[4:], uint64(r.Offset))
	p[12], p[13] = r.Path, r.Flags
	return p
}

// DecodePgwrite reads the fixed part.
func DecodePgwrite(p [16]byte) Pgwrite {
	return Pgwrite{Handle(p[:4]), int64(be.Uint64(p[4:])), p[12], p[13]}
}

// Writev is kXR_writev. Its payload is segments; the data of all of them follows, outside the
// length of the payload.
type Writev struct {
	Options uint8
}

// ID returns ReqWritev.
func (Writev) ID() RequestID { return ReqWritev }

// Body encodes the fixed part.
func (r Writev) Body() (p [16]byte) {
	p[0] = r.Options
	return p
}

// DecodeWritev reads the fixed part.
func DecodeWritev(p [16]byte) Writev { return Writev{p[0]} }

// Chkpoint is kXR_chkpoint. The payload of CkpXeq is the header of a request; that request's own
// payload follows, outside the length of this one's.
type Chkpoint struct {
	Handle    Handle
	Operation uint8
}

// ID returns ReqChkpoint.
func (Chkpoint) ID() RequestID { return ReqChkpoint }

// Body encodes the fixed part.
func (r Chkpoint) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	p[15] = r.Operation
	return p
}

// DecodeChkpoint reads the fixed part.
func DecodeChkpoint(p [16]byte) Chkpoint { return Chkpoint{Handle(p[:4]), p[15]} }

// ChkpointReply is the answer to CkpQuery, in bytes.
type ChkpointReply struct {
	Max, Used uint32
}

// Append encodes the body.
func (r ChkpointReply) Append(b []byte) []byte {
	return be.AppendUint32(be.AppendUint32(b, r.Max), r.Used)
}

// ParseChkpointReply decodes the body.
func ParseChkpointReply(b []byte) (ChkpointReply, error) {
	if len(b) < 8 {
		return ChkpointReply{}, fail(InvalidRequest, "checkpoint answer has %d bytes, needs 8", len(b))
	}
	return ChkpointReply{be.Uint32(b), be.Uint32(b[4:])}, nil
}

// Clone is kXR_clone; its payload is ranges.
type Clone struct {
	Handle Handle
}

// ID returns ReqClone.
func (Clone) ID() RequestID { return ReqClone }

// Body encodes the fixed part.
func (r Clone) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	return p
}

// DecodeClone reads the fixed part.
func DecodeClone(p [16]byte) Clone { return Clone{Handle(p[:4])} }

// CloneRangeSize is the length of one encoded range.
const CloneRangeSize = 32

// CloneRange is one range of kXR_clone, from the source handle into the request's.
type CloneRange struct {
	Source         Handle
	Offset, Length int64
	Target         int64
}

// Append encodes the range.
func (r CloneRange) Append(b []byte) []byte {
	b = append(b, r.Source[:]...)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint64(b, uint64(r.Offset))
	b = be.AppendUint64(b, uint64(r.Length))
	return be.AppendUint64(b, uint64(r.Target))
}

// ParseCloneRanges decodes the payload of kXR_clone.
func ParseCloneRanges(b []byte) ([]CloneRange, error) {
	n := len(b) / CloneRangeSize
	switch {
	case n == 0 || len(b)%CloneRangeSize != 0:
		return nil, fail(ArgInvalid, "clone list of %d bytes is not a list of 32-byte ranges", len(b))
	case n > VectorMax:
		return nil, fail(ArgTooLong, "clone list has %d ranges, the limit is %d", n, VectorMax)
	}
	list := make([]CloneRange, n)
	for i := range list {
		e := b[i*CloneRangeSize:]
		list[i] = CloneRange{Handle(e[:4]), int64(be.Uint64(e[8:])), int64(be.Uint64(e[16:])), int64(be.Uint64(e[24:]))}
	}
	return list, nil
}
