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

// failure is an *errs.Error in its wire form: base64url of CBOR, in a header. Causes become text: a program acts on the
// kind only.
type failure struct {
	Kind                      uint8
	Op, Subject, Text, Remedy string
}

// textMax bounds a text, so that headers stay small for any subject or cause.
const textMax = 2048

// toWire returns the Connect error of any error.
func toWire(c connect.Codec, err error) *connect.Error {
	f := failure{Kind: uint8(errs.KindOf(err)), Text: clip(err.Error()), Remedy: clip(errs.RemedyOf(err))}
	var e *errs.Error
	if errors.As(err, &e) && e == err { // otherwise the text around it would be lost
		f.Op, f.Subject, f.Text = clip(e.Op), clip(e.Subject), clip(textOf(e))
	}
	wire := connect.NewError(CodeOf(errs.Kind(f.Kind)), errors.New(clip(err.Error())))
	// A header and not the body, so that our clients and those of Connect can read the answer.
	if b, failed := c.Marshal(f); failed == nil {
		wire.Meta().Set(headerError, base64.RawURLEncoding.EncodeToString(b))
	}
	return wire
}

// textOf returns the part that [errs.Error.Error] prints after op and subject.
func textOf(e *errs.Error) string {
	switch {
	case e.Cause == nil:
		return e.Text
	case e.Text == "":
		return e.Cause.Error()
	}
	return e.Text + ": " + e.Cause.Error()
}

// clip cuts a text at textMax.
func clip(s string) string {
	if len(s) > textMax {
		return s[:textMax] + "…"
	}
	return s
}

// fromWire returns the error of a failed call: the server's own, or that of the transport.
func fromWire(ctx context.Context, c connect.Codec, err error, subject string) error {
	var wire *connect.Error
	if errors.As(err, &wire) {
		if b, bad := base64.RawURLEncoding.DecodeString(wire.Meta().Get(headerError)); bad == nil && len(b) > 0 {
			var f failure
			if c.Unmarshal(b, &f) == nil { // a later manager may send kinds that are unknown here
				return &errs.Error{Kind: errs.Kind(f.Kind), Op: f.Op, Subject: f.Subject, Text: f.Text, Remedy: f.Remedy}
			}
		}
	}
	kind := kindOf(err)
	// HTTP/2 reports "cancelled" for a stream whose connection broke.
	if kind == errs.Cancelled && ctx.Err() == nil {
		kind = errs.Unavailable // the connection was cancelled, not the caller
	}
	lost := &errs.Error{Kind: kind, Op: "rpc.Call", Subject: subject, Cause: err}
	if kind == errs.Unavailable {
		lost.Remedy = "check that the manager runs and that its control port can be reached from here"
	}
	return lost
}

// codes has Connect's codes and the kinds that they stand for. Other kinds are sent as CodeInternal.
var codes = []struct {
	code connect.Code
	// bare is the kind of the code if no exact kind came with it: then Connect, a proxy or another program sent it.
	bare errs.Kind
	// transport: such an answer describes the way to the manager. Any other would be a decision of a manager.
	transport bool
	kinds     []errs.Kind // sent with the code
}{
	{connect.CodeInvalidArgument, errs.Invalid, true, []errs.Kind{errs.Invalid, errs.TooLarge}},
	{connect.CodeNotFound, errs.NotFound, false, []errs.Kind{errs.NotFound, errs.NoAttribute}},
	{connect.CodeAlreadyExists, errs.Exists, false, []errs.Kind{errs.Exists}},
	{connect.CodePermissionDenied, errs.Denied, true, []errs.Kind{errs.Denied}},
	{connect.CodeUnauthenticated, errs.Unauthenticated, true, []errs.Kind{errs.Unauthenticated}},
	// Connect itself uses it for a message above the limit. A later call would fail too.
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

// CodeOf returns the Connect code of a kind, which determines the HTTP status. It is for proxies, curl and people with a
// packet dump; our clients read the exact kind in the header.
func CodeOf(k errs.Kind) connect.Code {
	for _, c := range codes {
		if slices.Contains(c.kinds, k) {
			return c.code
		}
	}
	return connect.CodeInternal
}

// KindOf returns the kind of a code, for an answer without an exact kind. transport reports whether Connect or a proxy
// may have made the answer; otherwise it claims to be a manager's, without its kind. For unknown codes the kind is
// Internal.
func KindOf(code connect.Code) (kind errs.Kind, transport bool) {
	for _, c := range codes {
		if c.code == code {
			return c.bare, c.transport
		}
	}
	return errs.Internal, false
}

// kindOf classifies a failure without an errs.Error: the server never got the call, its answer was lost, or the server is
// not a Hemera manager.
func kindOf(err error) errs.Kind {
	if errors.Is(err, context.DeadlineExceeded) {
		return errs.Timeout
	}
	if errors.Is(err, context.Canceled) {
		return errs.Cancelled
	}
	// An error from before the request was sent.
	var e *errs.Error // from dialling, or from verifying the manager's certificate
	if errors.As(err, &e) {
		return e.Kind
	}
	// Such an answer looks like a decision of a manager but is not one: a caller would act on it, and remove the data
	// that it wrote.
	if kind, transport := KindOf(connect.CodeOf(err)); transport {
		return kind
	}
	return errs.Unavailable
}

// plain answers a request that did not become a call.
func plain(c connect.Codec, w http.ResponseWriter, r *http.Request, err error) {
	_ = connect.NewErrorWriter(connect.WithCodec(c)).Write(w, r, toWire(c, err))
}
