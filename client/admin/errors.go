package admin

import (
	"context"
	"errors"
	"io/fs"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"hemera/platform/rpc"
	"hemera/words/errs"
)

// RemoteError is the error of a [Client]'s calls: the server's error and the trace id of the call in its logs. It unwraps
// to an *errs.Error with the server's kind and remedy.
type RemoteError struct {
	Trace string      // "" if the request never reached a server
	cause *errs.Error // never nil
	text  string      // the result of Error
}

// Error returns the server's text.
func (e *RemoteError) Error() string { return e.text }

// Unwrap returns the *errs.Error.
func (e *RemoteError) Unwrap() error { return e.cause }

// TraceOf returns the trace id in an error of a [Client], or "". It looks through wrapped errors.
func TraceOf(err error) string {
	var e *RemoteError
	if errors.As(err, &e) {
		return e.Trace
	}
	return ""
}

// fromConnect turns the error of a call into a *RemoteError. addr names the server in errors of the transport; if the
// context has ended, its error is used instead. trace is the request's. It is left out if no server answered, because no
// log has it then.
func fromConnect(ctx context.Context, err error, addr, trace string) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil && !connect.IsWireError(err) {
		cause := &errs.Error{Kind: errs.KindOf(ended), Op: "admin.AskManager", Subject: addr, Cause: ended}
		return &RemoteError{cause: cause, text: errs.Plain(cause.Error())}
	}
	var remote *connect.Error
	if !errors.As(err, &remote) {
		remote = connect.NewError(connect.CodeUnknown, err)
	}
	for _, d := range remote.Details() {
		value, bad := d.Value()
		if bad != nil {
			continue
		}
		if s, ok := value.(*structpb.Struct); ok {
			return fromDetail(remote.Message(), s.GetFields())
		}
	}
	if own, ok := errors.AsType[*errs.Error](err); ok { // of the door that carried the request
		return &RemoteError{cause: own, text: own.Error()}
	}
	kind, _ := rpc.KindOf(remote.Code()) // our own servers send the exact kind as a detail
	cause := &errs.Error{Kind: kind, Op: "admin.ReachManager", Subject: addr, Text: remote.Message()}
	if !connect.IsWireError(err) {
		trace = ""
		switch cause.Kind {
		case errs.Unavailable:
			if errors.Is(err, fs.ErrPermission) { // a unix socket's directory
				cause.Kind = errs.Denied
				cause.Remedy = "run it as a user who may enter the socket's directory, or name the manager's port: root://localhost:1094"
				break
			}
			cause.Remedy = "check that a manager is running there (hemera up starts one), or set HEMERA_URL to where it is"
		case errs.Unsupported: // a 404 of a server that does not have these calls
			cause.Text = "no manager answers there (" + cause.Text + ")"
			cause.Remedy = "give the manager's address, not a node's, with --url or HEMERA_URL"
		}
	}
	return &RemoteError{Trace: trace, cause: cause, text: errs.Plain(cause.Error())}
}

// fromDetail rebuilds an error from the details that the door added. It returns nil for other details.
func fromDetail(message string, fields map[string]*structpb.Value) error {
	text := func(key string) string { return fields[key].GetStringValue() }
	cause := &errs.Error{
		Kind: errs.Kind(fields["kind"].GetNumberValue()),
		Op:   text("op"), Subject: text("subject"), Text: message, Remedy: text("remedy"),
	}
	return &RemoteError{Trace: text("trace"), cause: cause, text: message}
}
