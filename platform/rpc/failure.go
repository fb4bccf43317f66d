package rpc

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	"hemera/words/errs"
)

// failure is an *errs.Error as it travels, in a header, base64url of CBOR. Causes become text: what
// a program may act on is the kind.
type failure struct {
	Kind                      uint8
	Op, Subject, Text, Remedy string
}

// textMax keeps headers small whatever a subject or cause contains.
const textMax = 2048

// toWire makes the Connect error of any error.
func toWire(c connect.Codec, err error) *connect.Error {
	f := failure{Kind: uint8(errs.KindOf(err)), Text: clip(err.Error()), Remedy: clip(errs.RemedyOf(err))}
	var e *errs.Error
	if errors.As(err, &e) && e == err { // else what is around it would be lost
		f.Op, f.Subject, f.Text = clip(e.Op), clip(e.Subject), clip(textOf(e))
	}
	wire := connect.NewError(CodeOf(errs.Kind(f.Kind)), errors.New(clip(err.Error())))
	// A header rather than the body: clients of our own and Connect's both read the answer.
	if b, failed := c.Marshal(f); failed == nil {
		wire.Meta().Set(headerError, base64.RawURLEncoding.EncodeToString(b))
	}
	return wire
}

// textOf is what [errs.Error.Error] prints after op and subject.
func textOf(e *errs.Error) string {
	switch {
	case e.Cause == nil:
		return e.Text
	case e.Text == "":
		return e.Cause.Error()
	}
	return e.Text + ": " + e.Cause.Error()
}

// clip bounds a text.
func clip(s string) string {
	if len(s) > textMax {
		return s[:textMax] + "…"
	}
	return s
}

// fromWire is the error of a call that failed: the server's own, or what happened on the way.
func fromWire(ctx context.Context, c connect.Codec, err error, subject string) error {
	var wire *connect.Error
	if errors.As(err, &wire) {
		if b, bad := base64.RawURLEncoding.DecodeString(wire.Meta().Get(headerError)); bad == nil && len(b) > 0 {
			var f failure
			if c.Unmarshal(b, &f) == nil { // a manager of a later version may send kinds that are unknown here
				return &errs.Error{Kind: errs.Kind(f.Kind), Op: f.Op, Subject: f.Subject, Text: f.Text, Remedy: f.Remedy}
			}
		}
	}
	kind := kindOf(err)
	// HTTP/2 says "cancelled" of a stream whose connection broke.
	if kind == errs.Cancelled && ctx.Err() == nil {
		kind = errs.Unavailable // the connection was, not the caller
	}
	lost := &errs.Error{Kind: kind, Op: "rpc.Call", Subject: subject, Cause: err}
	if kind == errs.Unavailable {
		lost.Remedy = "check that the manager runs and that its control port can be reached from here"
	}
	return lost
}

// codes are Connect's codes and what they stand for. A kind that is in no line is sent as CodeInternal.
var codes = []struct {
	code connect.Code
	// bare is the kind of the code where no exact kind came with it: Connect, a proxy or another program said it.
	bare errs.Kind
	// transport: such an answer says how the way to the manager is. Any other would be a decision of a manager.
	transport bool
	kinds     []errs.Kind // sent with the code
}{
	{connect.CodeInvalidArgument, errs.Invalid, true, []errs.Kind{errs.Invalid, errs.TooLarge}},
	{connect.CodeNotFound, errs.NotFound, false, []errs.Kind{errs.NotFound, errs.NoAttribute}},
	{connect.CodeAlreadyExists, errs.Exists, false, []errs.Kind{errs.Exists}},
	{connect.CodePermissionDenied, errs.Denied, true, []errs.Kind{errs.Denied}},
	{connect.CodeUnauthenticated, errs.Unauthenticated, true, []errs.Kind{errs.Unauthenticated}},
	// Connect itself says it of a message above the limit, which no later call would pass either.
	{connect.CodeResourceExhausted, errs.TooLarge, true, []errs.Kind{errs.NoSpace, errs.OverQuota, errs.Overloaded}},
	{connect.CodeAborted, errs.Conflict, false, []errs.Kind{errs.Conflict, errs.Fenced, errs.Locked}},
	{connect.CodeUnavailable, errs.Unavailable, true, []errs.Kind{errs.Unavailable, errs.NoReplicas}},
	{connect.CodeUnimplemented, errs.Unsupported, true, []errs.Kind{errs.Unsupported}},
	{connect.CodeDataLoss, errs.Corrupt, false, []errs.Kind{errs.Corrupt}},
	{connect.CodeCanceled, errs.Cancelled, true, []errs.Kind{errs.Cancelled}},
	{connect.CodeDeadlineExceeded, errs.Timeout, true, []errs.Kind{errs.Timeout}},
	{connect.CodeFailedPrecondition, errs.Invalid, false, []errs.Kind{errs.IsDirectory, errs.NotDirectory, errs.NotEmpty, errs.ReadOnly, errs.BadHandle}},
	{connect.CodeOutOfRange, errs.Invalid, false, nil},
}

// CodeOf picks the Connect code of a kind, which chooses the HTTP status: it is for proxies, curl and
// people with a packet dump; clients of our own read the exact kind beside it.
func CodeOf(k errs.Kind) connect.Code {
	for _, c := range codes {
		if slices.Contains(c.kinds, k) {
			return c.code
		}
	}
	return connect.CodeInternal
}

// KindOf is the way back, for an answer without an exact kind. transport reports whether Connect or a proxy may have made
// the answer; otherwise it claims to be a manager's, without its kind. Internal for codes that stand for nothing here.
func KindOf(code connect.Code) (kind errs.Kind, transport bool) {
	for _, c := range codes {
		if c.code == code {
			return c.bare, c.transport
		}
	}
	return errs.Internal, false
}

// kindOf classifies a failure that has no errs.Error: the server never saw the call, its answer was
// lost, or what answered is no Hemera manager.
func kindOf(err error) errs.Kind {
	if errors.Is(err, context.DeadlineExceeded) {
		return errs.Timeout
	}
	if errors.Is(err, context.Canceled) {
		return errs.Cancelled
	}
	// What was wrong before a request could be sent.
	var e *errs.Error // from dialling, or from looking at the manager's certificate
	if errors.As(err, &e) {
		return e.Kind
	}
	// What looks like a decision of a manager is none: a caller would act on it, and remove what it wrote.
	if kind, transport := KindOf(connect.CodeOf(err)); transport {
		return kind
	}
	return errs.Unavailable
}

// plain answers a request that never became a call.
func plain(c connect.Codec, w http.ResponseWriter, r *http.Request, err error) {
	_ = connect.NewErrorWriter(connect.WithCodec(c)).Write(w, r, toWire(c, err))
}
