package wire

import "fmt"

// RequestID identifies a request.
type RequestID uint16

// The requests.
const (
	ReqAuth     RequestID = 3000 // one step of an authentication
	ReqQuery    RequestID = 3001 // checksum, space, configuration and others; also opaque ones
	ReqChmod    RequestID = 3002 // set permission bits
	ReqClose    RequestID = 3003 // close a handle
	ReqDirlist  RequestID = 3004 // list a directory
	ReqGPFile   RequestID = 3005 // unused
	ReqProtocol RequestID = 3006 // versions and flags of both ends
	ReqLogin    RequestID = 3007 // open a session
	ReqMkdir    RequestID = 3008 // make a directory
	ReqMv       RequestID = 3009 // rename
	ReqOpen     RequestID = 3010 // open a file
	ReqPing     RequestID = 3011 // is the server alive
	ReqChkpoint RequestID = 3012 // undo for writes of a handle
	ReqRead     RequestID = 3013 // read without checksums
	ReqRm       RequestID = 3014 // remove a file
	ReqRmdir    RequestID = 3015 // remove an empty directory
	ReqSync     RequestID = 3016 // make a handle's writes durable; runs a third-party copy
	ReqStat     RequestID = 3017 // stat of a path, a handle or a space
	ReqSet      RequestID = 3018 // the client describes itself
	ReqWrite    RequestID = 3019 // write without checksums
	ReqFattr    RequestID = 3020 // extended attributes
	ReqPrepare  RequestID = 3021 // stage files from tape
	ReqStatx    RequestID = 3022 // flags of many paths
	ReqEndsess  RequestID = 3023 // end an earlier session
	ReqBind     RequestID = 3024 // add a connection to a session
	ReqReadv    RequestID = 3025 // read many ranges
	ReqPgwrite  RequestID = 3026 // write pages with their checksums
	ReqLocate   RequestID = 3027 // which servers have a file
	ReqTruncate RequestID = 3028 // set a size
	ReqSigver   RequestID = 3029 // signature of the next request
	ReqPgread   RequestID = 3030 // read pages with their checksums
	ReqWritev   RequestID = 3031 // write many ranges
	ReqClone    RequestID = 3032 // copy ranges between handles
	reqFirst              = ReqAuth
	reqLast               = ReqClone
)

var requestNames = [...]string{
	"auth", "query", "chmod", "close", "dirlist", "gpfile", "protocol", "login", "mkdir", "mv", "open",
	"ping", "chkpoint", "read", "rm", "rmdir", "sync", "stat", "set", "write", "fattr", "prepare",
	"statx", "endsess", "bind", "readv", "pgwrite", "locate", "truncate", "sigver", "pgread", "writev", "clone",
}

// Known reports whether the protocol has a request of this number.
func (r RequestID) Known() bool { return r >= reqFirst && r <= reqLast }

// String returns the request's name without its prefix: "open".
func (r RequestID) String() string {
	if !r.Known() {
		return fmt.Sprintf("request(%d)", uint16(r))
	}
	return requestNames[r-reqFirst]
}

// Status is the kind of a response.
type Status uint16

// The statuses.
const (
	StatusOK       Status = 0    // the whole answer, or its last piece
	StatusOKSoFar  Status = 4000 // a piece of the answer; more follows
	StatusAttn     Status = 4001 // unsolicited, or the answer promised by WaitResp
	StatusAuthMore Status = 4002 // one more step of authentication
	StatusError    Status = 4003 // a code and a text
	StatusRedirect Status = 4004 // ask another server
	StatusWait     Status = 4005 // ask again after some seconds
	StatusWaitResp Status = 4006 // the answer comes later, as an Attn
	StatusStatus   Status = 4007 // answer of pgread and pgwrite
)

// Code is an error number of the protocol.
type Code uint32

// The error codes.
const (
	ArgInvalid     Code = 3000 // an argument is malformed
	ArgMissing     Code = 3001 // an argument is needed
	ArgTooLong     Code = 3002 // an argument is longer than the server takes
	FileLocked     Code = 3003 // another writer holds the file
	FileNotOpen    Code = 3004 // the handle is not open
	FSError        Code = 3005 // any failure of the server's filesystem
	InvalidRequest Code = 3006 // the request breaks the protocol
	IOError        Code = 3007 // a device failed
	NoMemory       Code = 3008 // the server has no memory left
	NoSpace        Code = 3009 // no room left
	NotAuthorized  Code = 3010 // not allowed
	NotFound       Code = 3011 // no such entry
	ServerError    Code = 3012 // the server failed
	Unsupported    Code = 3013 // not implemented
	NoServer       Code = 3014 // no server can do it now
	NotFile        Code = 3015 // it is not a file
	IsDirectory    Code = 3016 // it is a directory
	Cancelled      Code = 3017 // the request was cancelled
	ItExists       Code = 3018 // the name is taken
	ChkSumErr      Code = 3019 // bytes do not match their checksum
	InProgress     Code = 3020 // it is under way already
	OverQuota      Code = 3021 // a quota is used up
	SigVerErr      Code = 3022 // a request's signature is wrong
	DecryptErr     Code = 3023 // a request cannot be decrypted
	Overloaded     Code = 3024 // too many requests
	FSReadOnly     Code = 3025 // the filesystem takes no writes
	BadPayload     Code = 3026 // the payload is malformed
	AttrNotFound   Code = 3027 // no such extended attribute
	TLSRequired    Code = 3028 // only over TLS
	NoReplicas     Code = 3029 // no server with the file is left to try
	AuthFailed     Code = 3030 // credentials were not accepted
	Impossible     Code = 3031 // it can never be done
	Conflict       Code = 3032 // it was changed at the same time
	TooManyErrs    Code = 3033 // too many pages arrived damaged
	ReqTimedOut    Code = 3034 // the request took too long
	TimerExpired   Code = 3035 // a timer of the server's ran out
)

// Error is a failure as the protocol carries it: an error of a decoder, or the body of a kXR_error response.
type Error struct {
	Code Code
	Text string
}

// Error returns the text with the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Text, uint32(e.Code)) }

func fail(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}
