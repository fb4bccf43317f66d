package admin

import (
	"context"
	"errors"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"hemera/platform/rpc"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// toConnect converts a service's error into one of the protocol, with kind, remedy and trace id as details. It returns an
// error of the protocol unchanged. Details are protobuf, so their texts become valid UTF-8.
func toConnect(ctx context.Context, err error) *connect.Error {
	var already *connect.Error
	if errors.As(err, &already) {
		return already
	}
	kind := errs.KindOf(err)
	out := connect.NewError(rpc.CodeOf(kind), errors.New(errs.Plain(err.Error())))
	fields := map[string]any{
		"kind": float64(kind), "what": kind.String(),
		"remedy": errs.RemedyOf(err), "trace": hemera.TraceID(ctx),
	}
	var e *errs.Error
	if errors.As(err, &e) {
		fields["op"], fields["subject"] = e.Op, e.Subject
	}
	for key, value := range fields {
		if text, ok := value.(string); ok {
			fields[key] = strings.ToValidUTF8(text, "\ufffd") // a path may have any bytes
		}
	}
	detail, _ := structpb.NewStruct(fields)
	if d, bad := connect.NewErrorDetail(detail); bad == nil {
		out.AddDetail(d)
	}
	return out
}
