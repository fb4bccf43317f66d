package wire

import "encoding/binary"

var be = binary.BigEndian

// StreamID pairs a response with its request; opaque to servers.
type StreamID [2]byte

// Handle names an open file within a session.
type Handle [4]byte

// SessionID names a session; knowing it is the right to bind to it and to end it.
type SessionID [16]byte

// Sizes of the fixed headers, in bytes.
const (
	RequestHeaderSize  = 24
	ResponseHeaderSize = 8
)

// RequestHeader begins every request. Length is that of the payload. It must be checked before use: a client may send any
// number, also a negative one.
type RequestHeader struct {
	Stream StreamID
	ID     RequestID
	Body   [16]byte
	Length int32
}

// ParseRequestHeader reads the first 24 bytes of b. It panics if b is shorter.
func ParseRequestHeader(b []byte) RequestHeader {
	_ = b[RequestHeaderSize-1]
	h := RequestHeader{Stream: StreamID(b[:2]), ID: RequestID(be.Uint16(b[2:]))}
	h.Body = [16]byte(b[4:20])
	h.Length = int32(be.Uint32(b[20:]))
	return h
}

// Append encodes the header.
func (h RequestHeader) Append(b []byte) []byte {
	b = append(b, h.Stream[:]...)
	b = be.AppendUint16(b, uint16(h.ID))
	b = append(b, h.Body[:]...)
	return be.AppendUint32(b, uint32(h.Length))
}

// Request is the fixed part of one kind of request.
type Request interface {
	ID() RequestID
	Body() [16]byte
}

// AppendRequest encodes the 24 bytes of a request whose payload of n bytes the caller sends next.
func AppendRequest(b []byte, stream StreamID, r Request, n int) []byte {
	return RequestHeader{Stream: stream, ID: r.ID(), Body: r.Body(), Length: int32(n)}.Append(b)
}

// ResponseHeader begins every response.
type ResponseHeader struct {
	Stream StreamID
	Status Status
	Length int32
}

// ParseResponseHeader reads the first 8 bytes of b. It panics if b is shorter.
func ParseResponseHeader(b []byte) ResponseHeader {
	_ = b[ResponseHeaderSize-1]
	return ResponseHeader{StreamID(b[:2]), Status(be.Uint16(b[2:])), int32(be.Uint32(b[4:]))}
}

// Append encodes the header.
func (h ResponseHeader) Append(b []byte) []byte {
	b = append(b, h.Stream[:]...)
	b = be.AppendUint16(b, uint16(h.Status))
	return be.AppendUint32(b, uint32(h.Length))
}

// AppendResponse encodes a whole response.
func AppendResponse(b []byte, stream StreamID, status Status, body []byte) []byte {
	b = ResponseHeader{stream, status, int32(len(body))}.Append(b)
	return append(b, body...)
}

// cString returns the text before the first NUL.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
