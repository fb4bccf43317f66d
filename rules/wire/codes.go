package wire

import "fmt"

// RequestID says what a request asks.
type RequestID uint16

// The requests.
const (
	ReqAuth     RequestID = 3000
	ReqQuery    RequestID = 3001
	ReqChmod    RequestID = 3002
	ReqClose    RequestID = 3003
	ReqDirlist  RequestID = 3004
	ReqGPFile   RequestID = 3005
	ReqProtocol RequestID = 3006
	ReqLogin    RequestID = 3007
	ReqMkdir    RequestID = 3008
	ReqMv       RequestID = 3009
	ReqOpen     RequestID = 3010
	ReqPing     RequestID = 3011
	ReqChkpoint RequestID = 3012
	ReqRead     RequestID = 3013
	ReqRm       RequestID = 3014
	ReqRmdir    RequestID = 3015
	ReqSync     RequestID = 3016
	ReqStat     RequestID = 3017
	ReqSet      RequestID = 3018
	ReqWrite    RequestID = 3019
	ReqFattr    RequestID = 3020
	ReqPrepare  RequestID = 3021
	ReqStatx    RequestID = 3022
	ReqEndsess  RequestID = 3023
	ReqBind     RequestID = 3024
	ReqReadv    RequestID = 3025
	ReqPgwrite  RequestID = 3026
	ReqLocate   RequestID = 3027
	ReqTruncate RequestID = 3028
	ReqSigver   RequestID = 3029
	ReqPgread   RequestID = 3030
	ReqWritev   RequestID = 3031
	ReqClone    RequestID = 3032

	reqFirst = ReqAuth
	reqLast  = ReqClone
)

var requestNames = [...]string{
	"auth", "query", "chmod", "close", "dirlist", "gpfile", "protocol", "login", "mkdir", "mv", "open",
	"ping", "chkpoint", "read", "rm", "rmdir", "sync", "stat", "set", "write", "fattr", "prepare",
	"statx", "endsess", "bind", "readv", "pgwrite", "locate", "truncate", "sigver", "pgread", "writev", "clone",
}

// Known reports whether the protocol has a request of this number.
func (r RequestID) Known() bool { return r >= reqFirst && r <= reqLast }

// String is the request's name without its prefix: "open".
func (r RequestID) String() string {
	if !r.Known() {
		return fmt.Sprintf("request(%d)", uint16(r))
	}
	return requestNames[r-reqFirst]
}

// Status says what a response is.
type Status uint16

// The statuses.
const (
	StatusOK       Status = 0
	StatusOKSoFar  Status = 4000 // a piece of the answer; more follows
	StatusAttn     Status = 4001 // unsolicited, or the answer promised by WaitResp
	StatusAuthMore Status = 4002
	StatusError    Status = 4003
	StatusRedirect Status = 4004
	StatusWait     Status = 4005 // ask again after some seconds
	StatusWaitResp Status = 4006 // the answer comes later, as an Attn
	StatusStatus   Status = 4007 // answer of pgread and pgwrite
)

// Code is an error number of the protocol.
type Code uint32

// The error codes.
const (
	ArgInvalid     Code = 3000
	ArgMissing     Code = 3001
	ArgTooLong     Code = 3002
	FileLocked     Code = 3003
	FileNotOpen    Code = 3004
	FSError        Code = 3005
	InvalidRequest Code = 3006
	IOError        Code = 3007
	NoMemory       Code = 3008
	NoSpace        Code = 3009
	NotAuthorized  Code = 3010
	NotFound       Code = 3011
	ServerError    Code = 3012
	Unsupported    Code = 3013
	NoServer       Code = 3014
	NotFile        Code = 3015
	IsDirectory    Code = 3016
	Cancelled      Code = 3017
	ItExists       Code = 3018
	ChkSumErr      Code = 3019
	InProgress     Code = 3020
	OverQuota      Code = 3021
	SigVerErr      Code = 3022
	DecryptErr     Code = 3023
	Overloaded     Code = 3024
	FSReadOnly     Code = 3025
	BadPayload     Code = 3026
	AttrNotFound   Code = 3027
	TLSRequired    Code = 3028
	NoReplicas     Code = 3029
	AuthFailed     Code = 3030
	Impossible     Code = 3031
	Conflict       Code = 3032
	TooManyErrs    Code = 3033
	ReqTimedOut    Code = 3034
	TimerExpired   Code = 3035
)

// Error is a failure as the protocol carries it: what a decoder found wrong with a message, and the
// body of a kXR_error response.
type Error struct {
	Code Code
	Text string
}

// Error is the text with the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Text, uint32(e.Code)) }

func fail(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}
