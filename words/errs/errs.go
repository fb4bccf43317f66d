// Package errs is the one shape of error in Hemera: what was tried, on what, which of a closed set
// of kinds the failure is, its cause, and what a person can do about it. Kinds survive rpc; protocol codes live in the doors.
//
// # Kinds
//
// An error has one kind: that of the outermost [Error] in its chain, else what the operating system or a context said, else
// Internal. [KindOf] returns it, and errors.Is(err, errs.NotFound) asks for it; the two always agree. [Wrap] keeps the kind of
// the cause, [As] replaces it on purpose: a missing file of a node's own is Internal to a client, not NotFound. The cause
// stays in the chain for everything else that errors.Is and errors.As may look for.
//
// # Operations
//
// Op is "package.Verb" in all of the code: "disk.Seal", "namespace.SetMode", "xrootd.ConnectTo", and "hemera.FsAdd" for commands.
// Logs show it as it is. People read it in words, see [Plain], so the verb is one that reads well before the subject.
//
// Values are immutable and safe for concurrent use.
package errs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// Kind is a closed set of failures. The numbers travel between versions; only append.
type Kind uint8

// The kinds. A caller may retry Unavailable, Overloaded and Timeout unchanged after a while;
// Conflict and Fenced after it has looked again; no other kind.
const (
	Internal        Kind = iota // a defect or an unclassified cause
	Invalid                     // the request makes no sense; naming what is wrong
	NotFound                    // no such entry, file, disk, node
	Exists                      // the name is taken
	IsDirectory                 // a file was needed
	NotDirectory                // a directory was needed
	NotEmpty                    // the directory still has entries
	Denied                      // known, but not allowed
	Unauthenticated             // not known, or credentials failed
	NoSpace                     // no disk can take it
	OverQuota                   // a quota is used up
	IO                          // a device failed
	Corrupt                     // bytes do not match their checksum
	Locked                      // another writer holds the file
	Conflict                    // changed meanwhile: another generation or epoch won
	Unavailable                 // a needed part is not reachable now
	Unsupported                 // not built, or not for this kind of thing
	TooLarge                    // over a limit, which the text names
	ReadOnly                    // the disk, space or mount takes no writes
	Cancelled                   // the caller went away
	Timeout                     // not done in time; may or may not have happened
	BadHandle                   // the handle is not open
	NoReplicas                  // no piece left to try
	NoAttribute                 // the extended attribute is not set
	Fenced                      // the writer's epoch or lease is over
	Overloaded                  // a bounded queue is full, or the process has run out of files or memory
	kinds
)

var names = [kinds]string{
	"internal error", "invalid", "not found", "exists", "is a directory", "not a directory",
	"not empty", "permission denied", "not authenticated", "no space", "over quota", "I/O error",
	"corrupt", "locked", "conflict", "unavailable", "unsupported", "too large", "read-only",
	"cancelled", "timed out", "bad handle", "no replica left", "no such attribute", "fenced", "overloaded",
}

// String returns the kind in words.
func (k Kind) String() string {
	if k >= kinds {
		return names[Internal]
	}
	return names[k]
}

// Error is the error.
type Error struct {
	Kind    Kind
	Op      string // "package.Verb", see IsOp
	Subject string // the path, id or address it was about; may be empty
	Text    string // what is wrong, if the kind and the cause do not say it
	Cause   error  // may be nil
	Remedy  string // one sentence that tells a person what to do; may be empty
}

// New makes an error with a text of its own.
func New(kind Kind, op, subject, text string) *Error {
	return &Error{Kind: kind, Op: op, Subject: subject, Text: text}
}

// Wrap gives a cause its operation and subject. The kind is the cause's (see [KindOf]).
// Wrap(nil) is nil.
func Wrap(err error, op, subject string) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Op: op, Subject: subject, Cause: err}
}

// As gives a cause an operation, a subject and a kind of the caller's choosing. As(nil) is nil.
func As(err error, kind Kind, op, subject string) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kind, Op: op, Subject: subject, Cause: err}
}

// Unsaid returns a cause that programs find in the chain and people do not read: the text of the error around it says what it means for
// them, and the log has it. Unsaid(nil) is nil.
func Unsaid(cause error) error {
	if cause == nil {
		return nil
	}
	return unsaid{cause}
}

type unsaid struct{ cause error }

func (unsaid) Error() string { return "" }

func (u unsaid) Unwrap() error { return u.cause }

// WithRemedy returns a copy of e that carries the remedy.
func (e *Error) WithRemedy(remedy string) *Error {
	c := *e
	c.Remedy = remedy
	return &c
}

// Error prints "op subject: text: cause", without a cause that is [Unsaid]; doors and commands add the remedy.
func (e *Error) Error() string {
	about, cause := e.Op, ""
	if e.Subject != "" {
		about += " " + e.Subject
	}
	if e.Cause != nil {
		cause = e.Cause.Error()
	}
	switch {
	case e.Text != "" && cause != "":
		return about + ": " + e.Text + ": " + cause
	case e.Text != "":
		return about + ": " + e.Text
	case cause != "":
		return about + ": " + cause
	}
	return about + ": " + e.Kind.String()
}

// Unwrap returns the cause. If the cause is of another kind, errors.Is does not find that kind in it: the kind of an error is
// the outermost one. Everything else in the cause is found.
func (e *Error) Unwrap() error {
	if e.Cause == nil || KindOf(e.Cause) == e.Kind {
		return e.Cause
	}
	return reclassified{e.Cause}
}

// reclassified is a cause whose kind an Error around it has replaced. It has no Unwrap, so that errors.Is asks it alone.
type reclassified struct{ cause error }

func (r reclassified) Error() string { return r.cause.Error() }

// Is finds everything in the cause but kinds.
func (r reclassified) Is(target error) bool {
	if _, ok := target.(Kind); ok {
		return false
	}
	return errors.Is(r.cause, target)
}

// As finds everything in the cause.
func (r reclassified) As(target any) bool { return errors.As(r.cause, target) }

// Is makes errors.Is(err, errs.NotFound) ask for the kind; see Unwrap for why it is the outermost one's.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && e.Kind == k
}

// Error makes a Kind usable as a target of errors.Is and as a bare error.
func (k Kind) Error() string { return k.String() }

// KindOf returns the kind of any error: that of the first Error in the chain, else what the operating
// system or context said, else Internal. Of nil it is Internal, so check for nil first.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	if k, ok := errors.AsType[Kind](err); ok {
		return k
	}
	for _, c := range system {
		if errors.Is(err, c.target) {
			return c.kind
		}
	}
	return Internal
}

// Undecided reports whether the error leaves open if the request was carried out, or will be. A caller that has to know
// asks again.
func Undecided(err error) bool {
	switch KindOf(err) {
	case Timeout, Unavailable, Overloaded, Cancelled:
		return true
	}
	return false
}

// system are the kinds of other errors, in the order in which they are tried: fs.ErrNotExist and its like are last, since
// they are the kinds of several numbers.
var system = []struct {
	target error
	kind   Kind
}{
	{context.Canceled, Cancelled},
	{context.DeadlineExceeded, Timeout},
	{syscall.ENOSPC, NoSpace},
	{syscall.EDQUOT, NoSpace},
	{syscall.EROFS, ReadOnly},
	{syscall.EIO, IO},
	{syscall.EMFILE, Overloaded},
	{syscall.ENFILE, Overloaded},
	{syscall.ENOMEM, Overloaded},
	{syscall.ENOBUFS, Overloaded},
	{syscall.EAGAIN, Overloaded},
	{syscall.EISDIR, IsDirectory},
	{syscall.ENOTDIR, NotDirectory},
	{syscall.ENOTEMPTY, NotEmpty},
	{syscall.ECONNREFUSED, Unavailable},
	{syscall.ECONNRESET, Unavailable},
	{syscall.EPIPE, Unavailable},
	{syscall.EHOSTUNREACH, Unavailable},
	{syscall.ETIMEDOUT, Timeout},
	{fs.ErrNotExist, NotFound},
	{fs.ErrExist, Exists},
	{fs.ErrPermission, Denied},
}

// RemedyOf returns the first remedy in the chain, or "".
func RemedyOf(err error) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if e.Remedy != "" {
			return e.Remedy
		}
		err = e.Cause
	}
	return ""
}
