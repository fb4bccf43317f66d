package wire

import (
	"bytes"
	"strings"
)

// Stat is kXR_stat: of the payload's path, or of the handle if there is no payload.
type Stat struct {
	Options uint8
	Wants   uint32
	Handle  Handle
}

// ID returns ReqStat.
func (Stat) ID() RequestID { return ReqStat }

// Body encodes the fixed part.
func (r Stat) Body() (p [16]byte) {
	p[0] = r.Options
	be.PutUint32(p[8:], r.Wants)
	copy(p[12:], r.Handle[:])
	return p
}

// DecodeStat reads the fixed part.
func DecodeStat(p [16]byte) Stat { return Stat{p[0], be.Uint32(p[8:]), Handle(p[12:])} }

// Statx is kXR_statx; its payload is paths separated by newlines.
type Statx struct{}

// ID returns ReqStatx.
func (Statx) ID() RequestID { return ReqStatx }

// Body returns zeros.
func (Statx) Body() [16]byte { return [16]byte{} }

// Dirlist is kXR_dirlist of the payload's path.
type Dirlist struct {
	Options uint8
}

// ID returns ReqDirlist.
func (Dirlist) ID() RequestID { return ReqDirlist }

// Body encodes the fixed part.
func (r Dirlist) Body() (p [16]byte) {
	p[15] = r.Options
	return p
}

// DecodeDirlist reads the fixed part.
func DecodeDirlist(p [16]byte) Dirlist { return Dirlist{p[15]} }

// Mkdir is kXR_mkdir of the payload's path.
type Mkdir struct {
	Options uint8
	Mode    uint16
}

// ID returns ReqMkdir.
func (Mkdir) ID() RequestID { return ReqMkdir }

// Body encodes the fixed part.
func (r Mkdir) Body() (p [16]byte) {
	p[0] = r.Options
	be.PutUint16(p[14:], r.Mode)
	return p
}

// DecodeMkdir reads the fixed part.
func DecodeMkdir(p [16]byte) Mkdir { return Mkdir{p[0], be.Uint16(p[14:])} }

// Chmod is kXR_chmod of the payload's path.
type Chmod struct {
	Mode uint16
}

// ID returns ReqChmod.
func (Chmod) ID() RequestID { return ReqChmod }

// Body encodes the fixed part.
func (r Chmod) Body() (p [16]byte) {
	be.PutUint16(p[14:], r.Mode)
	return p
}

// DecodeChmod reads the fixed part.
func DecodeChmod(p [16]byte) Chmod { return Chmod{be.Uint16(p[14:])} }

// Rm is kXR_rm of the payload's path.
type Rm struct{}

// ID returns ReqRm.
func (Rm) ID() RequestID { return ReqRm }

// Body returns zeros.
func (Rm) Body() [16]byte { return [16]byte{} }

// Rmdir is kXR_rmdir of the payload's path.
type Rmdir struct{}

// ID returns ReqRmdir.
func (Rmdir) ID() RequestID { return ReqRmdir }

// Body returns zeros.
func (Rmdir) Body() [16]byte { return [16]byte{} }

// Mv is kXR_mv; its payload is both paths with a blank between, the first FromLength bytes long.
type Mv struct {
	FromLength int16
}

// ID returns ReqMv.
func (Mv) ID() RequestID { return ReqMv }

// Body encodes the fixed part.
func (r Mv) Body() (p [16]byte) {
	be.PutUint16(p[14:], uint16(r.FromLength))
	return p
}

// DecodeMv reads the fixed part.
func DecodeMv(p [16]byte) Mv { return Mv{int16(be.Uint16(p[14:]))} }

// Split separates the payload. If FromLength is zero, as from old clients, it splits at the first blank.
func (r Mv) Split(payload []byte) (from, to []byte, err error) {
	n := int(r.FromLength)
	if n == 0 {
		n = bytes.IndexByte(payload, ' ')
	}
	if n <= 0 || n >= len(payload) || payload[n] != ' ' {
		return nil, nil, fail(ArgInvalid, "rename wants two paths with a blank between them")
	}
	from, to = payload[:n], payload[n+1:]
	if len(to) == 0 {
		return nil, nil, fail(ArgMissing, "rename lacks the new path")
	}
	return from, to, nil
}

// Truncate is kXR_truncate of the payload's path, or of the handle if there is no payload.
type Truncate struct {
	Handle Handle
	Size   int64
}

// ID returns ReqTruncate.
func (Truncate) ID() RequestID { return ReqTruncate }

// Body encodes the fixed part.
func (r Truncate) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	be.PutUint64(p[4:], uint64(r.Size))
	return p
}

// DecodeTruncate reads the fixed part.
func DecodeTruncate(p [16]byte) Truncate { return Truncate{Handle(p[:4]), int64(be.Uint64(p[4:]))} }

// Locate is kXR_locate of the payload's path; "*" before it means every server.
type Locate struct {
	Options uint16
}

// ID returns ReqLocate.
func (Locate) ID() RequestID { return ReqLocate }

// Body encodes the fixed part.
func (r Locate) Body() (p [16]byte) {
	be.PutUint16(p[:], r.Options)
	return p
}

// DecodeLocate reads the fixed part.
func DecodeLocate(p [16]byte) Locate { return Locate{be.Uint16(p[:])} }

// Location is one token of a locate answer.
type Location struct {
	Type   byte // S server, s server pending, M manager, m manager pending
	Access byte // r, w
	Addr   string
}

// AppendLocations encodes the body: tokens with blanks between, and a NUL.
func AppendLocations(b []byte, list []Location) []byte {
	for i, l := range list {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, l.Type, l.Access)
		b = append(b, l.Addr...)
	}
	return append(b, 0)
}

// ParseLocations decodes the body.
func ParseLocations(body []byte) ([]Location, error) {
	var list []Location
	for _, t := range strings.Fields(cString(body)) {
		if len(t) < 3 || !strings.ContainsRune("MmSs", rune(t[0])) || !strings.ContainsRune("rw", rune(t[1])) {
			return nil, fail(InvalidRequest, "location %q is not understood", t)
		}
		list = append(list, Location{t[0], t[1], t[2:]})
	}
	return list, nil
}
