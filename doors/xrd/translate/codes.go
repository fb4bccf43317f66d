package translate

import (
	"errors"
	"slices"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// codes has the protocol's code for each kind of error (§2.8).
//
// Clients act on the code and show the text. So each kind has the code after which stock clients do the most useful
// thing: try another server, wait, or fail at once. docs/protocol.md lists them; a test compares the two.
var codes = [...]wire.Code{
	errs.Internal:        wire.ServerError,
	errs.Invalid:         wire.ArgInvalid,
	errs.NotFound:        wire.NotFound,
	errs.Exists:          wire.ItExists,
	errs.IsDirectory:     wire.IsDirectory,
	errs.NotDirectory:    wire.FSError, // it has no code of its own
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

// wordsOf returns the words of an error's kind. An error of a door or a decoder, which has no kind, gets them by its
// code.
func wordsOf(err error) []string {
	kind := errs.KindOf(err)
	if malformed, ok := errors.AsType[*wire.Error](err); ok && kind == errs.Internal {
		switch malformed.Code {
		case wire.FSError: // the code of several errors
			return []string{"input/output error", "invalid argument", "operation not supported"}
		case wire.ArgMissing, wire.InvalidRequest, wire.BadPayload:
			kind = errs.Invalid
		case wire.NoMemory:
			return []string{"cannot allocate memory"}
		default:
			kind = errs.Kind(max(slices.Index(codes[:], malformed.Code), 0))
		}
	}
	return errs.Posix(kind)
}

// CodeOf returns the protocol's code for a kind. For kinds that this version does not know it is ServerError.
func CodeOf(k errs.Kind) wire.Code {
	if int(k) >= len(codes) { // of a newer version, over rpc
		return wire.ServerError
	}
	return codes[k]
}

// CodeOfError returns the code of any error: that of its kind, or the decoder's. It is ServerError if the error has
// neither.
func CodeOfError(err error) wire.Code {
	// The outermost classified error decides, because the code that chose its kind knew the meaning of the failure.
	if classified, ok := errors.AsType[*errs.Error](err); ok {
		return CodeOf(classified.Kind)
	}
	if malformed, ok := errors.AsType[*wire.Error](err); ok {
		return malformed.Code
	}
	return CodeOf(errs.KindOf(err))
}

// ErrorAnswer returns the body of the kXR_error for err.
func ErrorAnswer(err error, trace string) wire.Error {
	text := err.Error()
	// The text of a decoder's error is for clients, and has no operation before it.
	if malformed, ok := errors.AsType[*wire.Error](err); ok && error(malformed) == err {
		text = malformed.Text
	}
	if remedy := errs.RemedyOf(err); remedy != "" { // the remedy of the user
		text += "; " + remedy
	}
	text = errs.Plain(text)
	return wire.Error{Code: CodeOfError(err), Text: errs.WithPosix(text, wordsOf(err)) + " [trace " + trace + "]"}
}

// OpenFailure converts a node's error of an open to one after which the client returns to the manager for another node:
// clients do so only after some of the codes (§5).
func OpenFailure(err error) error {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Unavailable, errs.Timeout, errs.Fenced, errs.Conflict, errs.NoReplicas:
		return errs.As(err, errs.Internal, "xrd.Open", "") // stock clients return to the manager for a server error
	}
	return err
}

// PieceOpenFailure does the same as OpenFailure for another node's open of a piece, except that it keeps Corrupt: that
// node reports bad pieces to the manager.
func PieceOpenFailure(err error) error {
	if errs.KindOf(err) == errs.Corrupt {
		return err
	}
	return OpenFailure(err)
}

// IsConflict reports whether an open failed because the write is lost, also if OpenFailure has replaced the kind.
func IsConflict(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && (e.Kind == errs.Conflict || e.Cause != nil && errs.KindOf(e.Cause) == errs.Conflict)
}

// Refuse returns an error of the protocol itself, for requests that the door refuses without a service.
func Refuse(code wire.Code, text string) error { return &wire.Error{Code: code, Text: text} }
