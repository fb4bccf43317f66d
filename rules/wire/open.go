package wire

// Open is kXR_open of the payload's path.
type Open struct {
	Mode     uint16
	Options  uint16
	Options2 uint16 // optiont: dup, samefs, retstatx, directio
	Template Handle
}

// ID returns ReqOpen.
func (Open) ID() RequestID { return ReqOpen }

// Body encodes the fixed part.
func (r Open) Body() (p [16]byte) {
	be.PutUint16(p[:], r.Mode)
	be.PutUint16(p[2:], r.Options)
	be.PutUint16(p[4:], r.Options2)
	copy(p[12:], r.Template[:])
	return p
}

// DecodeOpen reads the fixed part.
func DecodeOpen(p [16]byte) Open {
	return Open{be.Uint16(p[:]), be.Uint16(p[2:]), be.Uint16(p[4:]), Handle(p[12:])}
}

// OpenReply is the answer: the handle, and the stat line if OpenRetStat asked for it.
type OpenReply struct {
	Handle Handle
	Stat   *StatInfo
}

// Append encodes the body: 4 bytes, or 12 and a stat line with NUL. full makes it at least 12
// bytes, for OpenCompress.
func (r OpenReply) Append(b []byte, full bool) []byte {
	b = append(b, r.Handle[:]...)
	if r.Stat == nil && !full {
		return b
	}
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	if r.Stat == nil {
		return b
	}
	return append(r.Stat.Append(b), 0)
}

// ParseOpenReply decodes the body.
func ParseOpenReply(b []byte) (OpenReply, error) {
	if len(b) < 4 {
		return OpenReply{}, fail(InvalidRequest, "open answer has %d bytes, needs 4", len(b))
	}
	r := OpenReply{Handle: Handle(b[:4])}
	if len(b) <= 12 {
		return r, nil
	}
	s, err := ParseStat(b[12:])
	if err != nil {
		return OpenReply{}, err
	}
	r.Stat = &s
	return r, nil
}

// Close is kXR_close.
type Close struct {
	Handle Handle
}

// ID returns ReqClose.
func (Close) ID() RequestID { return ReqClose }

// Body encodes the fixed part.
func (r Close) Body() (p [16]byte) {
	copy(p[:], r.Handle[:])
	return p
}

// DecodeClose reads the fixed part.
func DecodeClose(p [16]byte) Close { return Close{Handle(p[:4])} }

// Sync is kXR_sync.
type Sync struct {
	Handle Handle
}

// ID returns ReqSync.
func (Sync) ID() RequestID { return ReqSync }

// Body encodes the fixed part.
func (r Sync) Body() (p [16]byte) {
	copy(p[:], r.Handle[:])
	return p
}

// DecodeSync reads the fixed part.
func DecodeSync(p [16]byte) Sync { return Sync{Handle(p[:4])} }
