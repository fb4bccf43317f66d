package wire

// HandshakeSize is the length of the first message of a client.
const HandshakeSize = 20

// AppendHandshake encodes the first message of a client.
func AppendHandshake(b []byte) []byte {
	for _, v := range []uint32{0, 0, 0, 4, 2012} {
		b = be.AppendUint32(b, v)
	}
	return b
}

// IsHandshake reports whether the 20 bytes of b are a client's handshake.
func IsHandshake(b []byte) bool {
	return len(b) == HandshakeSize && string(b) == string(AppendHandshake(make([]byte, 0, HandshakeSize)))
}

// HandshakeReply is the server's answer: a response of stream 0 with 8 bytes of body.
type HandshakeReply struct {
	Version uint32
	Type    uint32
}

// Append encodes the answer with its response header.
func (r HandshakeReply) Append(b []byte) []byte {
	b = ResponseHeader{Length: 8}.Append(b)
	return be.AppendUint32(be.AppendUint32(b, r.Version), r.Type)
}

// Protocol is kXR_protocol: the abilities of the client, and its next request.
type Protocol struct {
	Version uint32
	Flags   uint8
	Expect  uint8
}

// ID returns ReqProtocol.
func (Protocol) ID() RequestID { return ReqProtocol }

// Body encodes the fixed part.
func (r Protocol) Body() (p [16]byte) {
	be.PutUint32(p[:], r.Version)
	p[4], p[5] = r.Flags, r.Expect
	return p
}

// DecodeProtocol reads the fixed part.
func DecodeProtocol(p [16]byte) Protocol { return Protocol{be.Uint32(p[:]), p[4], p[5] & 0x0f} }

// ProtocolReply is the answer without optional blocks: level 0, no request needs a signature.
type ProtocolReply struct {
	Version uint32
	Flags   uint32
}

// Append encodes the body.
func (r ProtocolReply) Append(b []byte) []byte {
	return be.AppendUint32(be.AppendUint32(b, r.Version), r.Flags)
}

// ParseProtocolReply decodes the body. It ignores optional blocks.
func ParseProtocolReply(b []byte) (ProtocolReply, error) {
	if len(b) < 8 {
		return ProtocolReply{}, fail(InvalidRequest, "protocol answer has %d bytes, needs 8", len(b))
	}
	return ProtocolReply{be.Uint32(b), be.Uint32(b[4:])}, nil
}

// Login is kXR_login. Its payload is the client's environment as cgi, possibly with a token.
type Login struct {
	PID          uint32
	User         string // at most 8 bytes are sent
	Ability2     uint8
	Ability      uint8
	Capabilities uint8
}

// ID returns ReqLogin.
func (Login) ID() RequestID { return ReqLogin }

// Body encodes the fixed part.
func (r Login) Body() (p [16]byte) {
	be.PutUint32(p[:], r.PID)
	copy(p[4:12], r.User)
	p[12], p[13], p[14] = r.Ability2, r.Ability, r.Capabilities
	return p
}

// DecodeLogin reads the fixed part.
func DecodeLogin(p [16]byte) Login {
	return Login{be.Uint32(p[:]), cString(p[4:12]), p[12], p[13], p[14]}
}

// LoginReply names the session. Security lists the mechanisms that the client may use ("&P=unix"); it is empty if the
// client needs none.
type LoginReply struct {
	Session  SessionID
	Security string
}

// Append encodes the body.
func (r LoginReply) Append(b []byte) []byte {
	b = append(b, r.Session[:]...)
	if r.Security == "" {
		return b
	}
	return append(append(b, r.Security...), 0)
}

// ParseLoginReply decodes the body.
func ParseLoginReply(b []byte) (LoginReply, error) {
	if len(b) < 16 {
		return LoginReply{}, fail(InvalidRequest, "login answer has %d bytes, needs 16", len(b))
	}
	return LoginReply{SessionID(b[:16]), cString(b[16:])}, nil
}

// Auth is kXR_auth; its payload is the credentials, which begin with the mechanism's name and NUL.
type Auth struct {
	Type string // at most 4 bytes
}

// ID returns ReqAuth.
func (Auth) ID() RequestID { return ReqAuth }

// Body encodes the fixed part.
func (r Auth) Body() (p [16]byte) {
	copy(p[12:], r.Type)
	return p
}

// Bind is kXR_bind: this connection will carry answers of the session.
type Bind struct {
	Session SessionID
}

// ID returns ReqBind.
func (Bind) ID() RequestID { return ReqBind }

// Body encodes the fixed part.
func (r Bind) Body() [16]byte { return r.Session }

// DecodeBind reads the fixed part.
func DecodeBind(p [16]byte) Bind { return Bind{p} }

// Endsess is kXR_endsess: end another, earlier session of the same client.
type Endsess struct {
	Session SessionID
}

// ID returns ReqEndsess.
func (Endsess) ID() RequestID { return ReqEndsess }

// Body encodes the fixed part.
func (r Endsess) Body() [16]byte { return r.Session }

// DecodeEndsess reads the fixed part.
func DecodeEndsess(p [16]byte) Endsess { return Endsess{p} }

// Ping is kXR_ping.
type Ping struct{}

// ID returns ReqPing.
func (Ping) ID() RequestID { return ReqPing }

// Body returns zeros.
func (Ping) Body() [16]byte { return [16]byte{} }

// Set is kXR_set; its payload says what to set ("appid xrdcp").
type Set struct {
	Modifier uint8
}

// ID returns ReqSet.
func (Set) ID() RequestID { return ReqSet }

// Body encodes the fixed part.
func (r Set) Body() (p [16]byte) {
	p[15] = r.Modifier
	return p
}
