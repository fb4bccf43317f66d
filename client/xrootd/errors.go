package xrootd

import (
	"errors"
	"fmt"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// kindOf returns the kind nearest to a server's code. FSError and ItExists stand for several failures that only their
// text distinguishes.
func kindOf(e *wire.Error) errs.Kind {
	text := strings.ToLower(e.Text) // of any server, in its own words
	switch {
	case strings.Contains(text, "not empty"):
		return errs.NotEmpty
	case e.Code == wire.FSError && strings.Contains(text, "not a directory"):
		return errs.NotDirectory
	}
	if k, ok := kinds[e.Code]; ok {
		return k
	}
	return errs.Internal
}

// kinds has the kinds of codes with one meaning. Other codes are Internal. Several codes have one kind if a caller would
// react in the same way.
var kinds = map[wire.Code]errs.Kind{
	wire.ArgInvalid: errs.Invalid, wire.ArgMissing: errs.Invalid, wire.ArgTooLong: errs.TooLarge,
	wire.FileLocked: errs.Locked, wire.FileNotOpen: errs.BadHandle, wire.FSError: errs.IO,
	wire.InvalidRequest: errs.Invalid, wire.IOError: errs.IO, wire.NoMemory: errs.Overloaded,
	wire.NoSpace: errs.NoSpace, wire.NotAuthorized: errs.Denied, wire.NotFound: errs.NotFound,
	wire.ServerError: errs.Internal, wire.Unsupported: errs.Unsupported, wire.NoServer: errs.Unavailable,
	wire.NotFile: errs.Invalid, wire.IsDirectory: errs.IsDirectory, wire.Cancelled: errs.Cancelled,
	wire.ItExists: errs.Exists, wire.ChkSumErr: errs.Corrupt, wire.InProgress: errs.Locked,
	wire.OverQuota: errs.OverQuota, wire.SigVerErr: errs.Denied, wire.DecryptErr: errs.Denied,
	wire.Overloaded: errs.Overloaded, wire.FSReadOnly: errs.ReadOnly, wire.BadPayload: errs.Invalid,
	wire.AttrNotFound: errs.NoAttribute, wire.TLSRequired: errs.Unsupported, wire.NoReplicas: errs.NoReplicas,
	wire.AuthFailed: errs.Unauthenticated, wire.Impossible: errs.Invalid, wire.Conflict: errs.Conflict,
	wire.TooManyErrs: errs.Corrupt, wire.ReqTimedOut: errs.Timeout, wire.TimerExpired: errs.Timeout,
}

// brief removes from a server's text what the error around it has already: Hemera's texts begin with the operation and
// the path.
func brief(text, subject string) string {
	about, rest, ok := strings.Cut(text, ": ")
	_, path, two := strings.Cut(about, " ")
	if ok && two && strings.HasPrefix(path, "/") && strings.HasSuffix(subject, "/"+path) {
		return rest
	}
	return text
}

// lossError is the cause of errors that mean the session is gone. sent is false if the server cannot have received the
// request: then a repetition is always safe.
type lossError struct {
	sent  bool
	cause error
}

// Error returns the reason why the session ended.
func (e *lossError) Error() string {
	if e.cause == nil {
		return "connection closed"
	}
	return e.cause.Error()
}

// Unwrap returns the reason why the session ended, nil if the server closed it.
func (e *lossError) Unwrap() error { return e.cause }

// lost returns the error of a request whose session ended.
func lost(e Endpoint, sent bool, cause error) error {
	err := &errs.Error{Kind: errs.Unavailable, Op: "xrootd.TalkTo", Subject: e.String(), Text: "the connection was lost", Cause: &lossError{sent, cause}}
	if !sent {
		err.Text = "not connected"
		err.Remedy = "check that a server is running there (hemera up starts one), and that host and port are right"
	}
	return err
}

// isLoss reports whether err is the loss of a session, and whether the request may have arrived. Only such errors are
// retried without an answer.
func isLoss(err error) (sent, loss bool) {
	var l *lossError
	if !errors.As(err, &l) {
		return false, false
	}
	return l.sent, true
}

// malformed returns the error for an answer that breaks the protocol. It ends the session, because the beginning of the
// next frame is not known any more.
func malformed(format string, args ...any) error {
	return errs.New(errs.Corrupt, "xrootd.ReadAnswer", "", fmt.Sprintf(format, args...))
}
