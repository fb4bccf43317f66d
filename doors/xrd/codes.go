package xrd

import (
	"errors"

	"hemera/errs"
	"hemera/rules/wire"
)

// codes maps kinds of failure to the protocol's numbers (§2.8).
var codes = [...]wire.Code{
	errs.Internal:        wire.ServerError,
	errs.Invalid:         wire.ArgInvalid,
	errs.NotFound:        wire.NotFound,
	errs.Exists:          wire.ItExists,
	errs.IsDirectory:     wire.IsDirectory,
	errs.NotDirectory:    wire.FSError,
	errs.NotEmpty:        wire.ItExists,
	errs.Denied:          wire.NotAuthorized,
	errs.Unauthenticated: wire.AuthFailed,
	errs.NoSpace:         wire.NoSpace,
	errs.OverQuota:       wire.OverQuota,
	errs.IO:              wire.IOError,
	errs.Corrupt:         wire.ChkSumErr,
	errs.Locked:          wire.FileLocked,
	errs.Conflict:        wire.Conflict,
	errs.Unavailable:     wire.NoServer,
	errs.Unsupported:     wire.Unsupported,
	errs.TooLarge:        wire.ArgTooLong,
	errs.ReadOnly:        wire.FSReadOnly,
	errs.Cancelled:       wire.Cancelled,
	errs.Timeout:         wire.ReqTimedOut,
	errs.BadHandle:       wire.FileNotOpen,
	errs.NoReplicas:      wire.NoReplicas,
	errs.NoAttribute:     wire.AttrNotFound,
	errs.Fenced:          wire.InProgress,
	errs.Overloaded:      wire.Overloaded,
}

// codeOf is the protocol's number for a kind.
func codeOf(k errs.Kind) wire.Code {
	if int(k) >= len(codes) {
		return wire.ServerError
	}
	return codes[k]
}

// codeOfError is the number for any error: the kind's, or the one a decoder chose.
func codeOfError(err error) wire.Code {
	if classified, ok := errors.AsType[*errs.Error](err); ok {
		return codeOf(classified.Kind)
	}
	if malformed, ok := errors.AsType[*wire.Error](err); ok {
		return malformed.Code
	}
	return codeOf(errs.KindOf(err))
}

// answerOf is the body of the kXR_error that reports err.
func answerOf(err error, trace string) wire.Error {
	text := err.Error()
	if malformed, ok := errors.AsType[*wire.Error](err); ok && error(malformed) == err {
		text = malformed.Text
	}
	if remedy := errs.RemedyOf(err); remedy != "" {
		text += "; " + remedy
	}
	return wire.Error{Code: codeOfError(err), Text: errs.Plain(text) + " [trace " + trace + "]"}
}

// openFailure makes a node's failure to open one that sends the client back to the manager for
// another node: clients do so only for some of the numbers (§5).
func openFailure(err error) error {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Unavailable, errs.Timeout, errs.Fenced, errs.Conflict, errs.NoReplicas:
		return errs.As(err, errs.Internal, "xrd.Open", "")
	}
	return err
}

// isConflict reports whether an open failed because the write is lost, also after openFailure has replaced the kind.
func isConflict(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && (e.Kind == errs.Conflict || e.Cause != nil && errs.KindOf(e.Cause) == errs.Conflict)
}

func refuse(code wire.Code, text string) error { return &wire.Error{Code: code, Text: text} }

var (
	errBadHandle = refuse(wire.FileNotOpen, "the file handle is not open")
	errNoPath    = refuse(wire.ArgMissing, "the request lacks a path")
	errNoSession = refuse(wire.NotFound, "no such session")
)

// closing is an error after whose answer the connection is closed.
type closing struct{ error }

func (c closing) Unwrap() error { return c.error }
