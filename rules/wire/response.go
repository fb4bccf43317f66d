package wire

import "strings"

// AppendError encodes the body of a kXR_error response: number, text, NUL.
func AppendError(b []byte, e Error) []byte {
	b = be.AppendUint32(b, uint32(e.Code))
	b = append(b, strings.ReplaceAll(e.Text, "\x00", "?")...)
	return append(b, 0)
}

// ParseError decodes the body of a kXR_error response.
func ParseError(b []byte) *Error {
	if len(b) < 4 {
		return &Error{ServerError, "the server sent an error without a number"}
	}
	return &Error{Code(be.Uint32(b)), cString(b[4:])}
}

// Redirect sends the client elsewhere. Opaque is merged into the request's path, but clients do so
// only for open, stat, mkdir, mv, chmod, rm, rmdir and truncate.
type Redirect struct {
	// Port is negative if Host is a whole URL. The complement of its bits are then flags, for clients with
	// AbilityRedirFlags: FlagRecoverWrts, FlagCollapseRdr.
	Port   int32
	Host   string
	Opaque Opaque
}

// Append encodes the body.
func (r Redirect) Append(b []byte) []byte {
	b = be.AppendUint32(b, uint32(r.Port))
	b = append(b, r.Host...)
	if r.Opaque != "" {
		b = append(append(b, '?'), r.Opaque...)
	}
	return b
}

// ParseRedirect decodes the body.
func ParseRedirect(b []byte) (Redirect, error) {
	if len(b) < 5 {
		return Redirect{}, fail(InvalidRequest, "redirect has %d bytes, needs 5", len(b))
	}
	host, opaque, _ := strings.Cut(cString(b[4:]), "?")
	r := Redirect{int32(be.Uint32(b)), host, Opaque(opaque)}
	if r.Host == "" || r.Port == 0 || r.Port > 65535 {
		return Redirect{}, fail(InvalidRequest, "redirect to %.80q port %d", r.Host, r.Port)
	}
	return r, nil
}

// Wait asks the client to send the request again after some seconds. As the body of WaitResp it says how long the answer
// may take.
type Wait struct {
	Seconds int32
	Text    string
}

// Append encodes the body.
func (w Wait) Append(b []byte) []byte {
	return append(be.AppendUint32(b, uint32(w.Seconds)), w.Text...)
}

// ParseWait decodes the body.
func ParseWait(b []byte) (Wait, error) {
	if len(b) < 4 {
		return Wait{}, fail(InvalidRequest, "wait has %d bytes, needs 4", len(b))
	}
	return Wait{int32(be.Uint32(b)), cString(b[4:])}, nil
}

// AppendAsync encodes a whole attn frame that carries the delayed answer to the stream's request.
func AppendAsync(b []byte, stream StreamID, status Status, body []byte) []byte {
	b = ResponseHeader{Status: StatusAttn, Length: int32(8 + ResponseHeaderSize + len(body))}.Append(b)
	b = be.AppendUint32(b, uint32(AttnAsyncResponse))
	b = append(b, 0, 0, 0, 0)
	return AppendResponse(b, stream, status, body)
}

// ParseAttn decodes the body of an attn frame. ok is false for actions other than a delayed answer,
// which clients may ignore. The answer's body aliases b.
func ParseAttn(b []byte) (h ResponseHeader, body []byte, ok bool, err error) {
	if len(b) < 4 {
		return h, nil, false, fail(InvalidRequest, "attn has %d bytes, needs 4", len(b))
	}
	if int32(be.Uint32(b)) != AttnAsyncResponse {
		return h, nil, false, nil
	}
	if len(b) < 8+ResponseHeaderSize {
		return h, nil, false, fail(InvalidRequest, "delayed answer has %d bytes, needs 16", len(b))
	}
	h = ParseResponseHeader(b[8:])
	body = b[8+ResponseHeaderSize:]
	if h.Length < 0 || int(h.Length) != len(body) {
		return h, nil, false, fail(InvalidRequest, "delayed answer claims %d bytes, has %d", h.Length, len(body))
	}
	return h, body, true, nil
}
