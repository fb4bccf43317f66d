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
