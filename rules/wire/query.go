package wire

import "strings"

// Query is kXR_query; the payload is the argument. Some kinds concern an open file.
type Query struct {
	Kind   uint16
	Handle Handle
}

// ID returns ReqQuery.
func (Query) ID() RequestID { return ReqQuery }

// Body encodes the fixed part.
func (r Query) Body() (p [16]byte) {
	be.PutUint16(p[:], r.Kind)
	copy(p[4:8], r.Handle[:])
	return p
}

// DecodeQuery reads the fixed part.
func DecodeQuery(p [16]byte) Query { return Query{be.Uint16(p[:]), Handle(p[4:8])} }

// Text returns a text payload or answer: the part before the first NUL.
func Text(b []byte) string { return cString(b) }

// ParseChecksumReply decodes the answer to QueryChecksum: "adler32 1a2b3c4d".
func ParseChecksumReply(b []byte) (kind, hex string, err error) {
	f := strings.Fields(cString(b))
	if len(f) != 2 {
		return "", "", fail(InvalidRequest, "checksum answer %.80q has %d words, needs 2", cString(b), len(f))
	}
	return f[0], f[1], nil
}

// Prepare is kXR_prepare; its payload is paths separated by newlines, or the request's id to cancel.
type Prepare struct {
	Options  uint8
	Priority uint8
	Port     uint16
	OptionX  uint16
}

// ID returns ReqPrepare.
func (Prepare) ID() RequestID { return ReqPrepare }

// Body encodes the fixed part.
func (r Prepare) Body() (p [16]byte) {
	p[0], p[1] = r.Options, r.Priority
	be.PutUint16(p[2:], r.Port)
	be.PutUint16(p[4:], r.OptionX)
	return p
}

// DecodePrepare reads the fixed part.
func DecodePrepare(p [16]byte) Prepare {
	return Prepare{p[0], p[1], be.Uint16(p[2:]), be.Uint16(p[4:])}
}

// Lines splits a payload of newline-separated texts, empty ones left out.
func Lines(payload []byte) []string {
	return strings.FieldsFunc(cString(payload), func(r rune) bool { return r == '\n' })
}
