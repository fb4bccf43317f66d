package translate

import (
	"errors"
	"slices"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// codes maps kinds of failure to the protocol's numbers (§2.8).
//
// Clients act on the number and show the text. So each kind has the number that makes stock clients do what helps: try
// another server, wait, or fail at once. docs/protocol.md lists them; a test compares the two.
var codes = [...]wire.Code{
	errs.Internal:        wire.ServerError,
	errs.Invalid:         wire.ArgInvalid,
	errs.NotFound:        wire.NotFound,
	errs.Exists:          wire.ItExists,
	errs.IsDirectory:     wire.IsDirectory,
	errs.NotDirectory:    wire.FSError, // there is no number of its own
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

// wordsOf are the words of an error's kind. A failure that a door or a decoder found, and no service, has a number alone.
func wordsOf(err error) []string {
	kind := errs.KindOf(err)
	if malformed, ok := errors.AsType[*wire.Error](err); ok && kind == errs.Internal {
		switch malformed.Code {
		case wire.FSError: // the number of several failures
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

// CodeOf is the protocol's number for a kind.
// A kind that this version does not know is the server's failure.
func CodeOf(k errs.Kind) wire.Code {
	if int(k) >= len(codes) { // of a newer version, by rpc
		return wire.ServerError
	}
	return codes[k]
}

// CodeOfError is the number for any error: the kind's, or the one a decoder chose.
// An error of neither kind is the server's failure.
func CodeOfError(err error) wire.Code {
	// The outermost classified error decides: its kind was chosen by the code that knew what the failure means.
	if classified, ok := errors.AsType[*errs.Error](err); ok {
		return CodeOf(classified.Kind)
	}
	if malformed, ok := errors.AsType[*wire.Error](err); ok {
		return malformed.Code
	}
	return CodeOf(errs.KindOf(err))
}

// ErrorAnswer is the body of the kXR_error that reports err.
func ErrorAnswer(err error, trace string) wire.Error {
	text := err.Error()
	// An error of a decoder has a text for clients already, without an operation before it.
	if malformed, ok := errors.AsType[*wire.Error](err); ok && error(malformed) == err {
		text = malformed.Text
	}
	if remedy := errs.RemedyOf(err); remedy != "" { // what the user can do
		text += "; " + remedy
	}
	text = errs.Plain(text)
	return wire.Error{Code: CodeOfError(err), Text: errs.WithPosix(text, wordsOf(err)) + " [trace " + trace + "]"}
}

// OpenFailure makes a node's failure to open one that sends the client back to the manager for
// another node: clients do so only for some of the numbers (§5).
func OpenFailure(err error) error {
	switch errs.KindOf(err) {
	case errs.Corrupt, errs.Unavailable, errs.Timeout, errs.Fenced, errs.Conflict, errs.NoReplicas:
		return errs.As(err, errs.Internal, "xrd.Open", "") // stock clients return to the manager for a server error
	}
	return err
}

// PieceOpenFailure is OpenFailure for the open of a piece by another node. That node has to hear of a piece that is bad, as
// it reports the piece to the manager. It returns to nobody.
func PieceOpenFailure(err error) error {
	if errs.KindOf(err) == errs.Corrupt {
		return err
	}
	return OpenFailure(err)
}

// IsConflict reports whether an open failed because the write is lost, also after OpenFailure has replaced the kind.
func IsConflict(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && (e.Kind == errs.Conflict || e.Cause != nil && errs.KindOf(e.Cause) == errs.Conflict)
}

// Refuse makes an error of the protocol's own, for what no service decides.
func Refuse(code wire.Code, text string) error { return &wire.Error{Code: code, Text: text} }
