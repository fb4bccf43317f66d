package admin

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"hemera/platform/rpc"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// answerMax bounds one message of an answer: the largest is a view of thousands of disks.
const answerMax = 64 << 20

// server is the door of a Client, and the connections to it.
type server struct {
	base string       // http://host:port, or http://localhost over a unix socket
	addr string       // for errors
	http *http.Client // has no timeout: a verb may take as long as it needs, and its context ends it
}

// options returns the options of every call.
func options(answer func(connect.Spec, any) error) []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithCodec(rpc.EnvelopeCodec(adminapi.Codec{})), connect.WithResponseInitializer(answer), connect.WithReadMaxBytes(answerMax),
		// Most calls stay on the manager's own machine: compressing would take longer than sending.
		connect.WithAcceptCompression("gzip", nil, nil),
	}
}

// request puts the context's trace id, or a new one, on a message. The trace connects the lines of one command in the
// logs of the client, the manager and the nodes.
func request(ctx context.Context, message any) (r *connect.Request[rpc.Envelope], trace string) {
	if trace = hemera.TraceID(ctx); trace == "" {
		trace = hemera.NewTraceID()
	}
	r = connect.NewRequest(&rpc.Envelope{Value: message})
	r.Header().Set(adminapi.TraceHeader, trace)
	return r, trace
}

// call calls one verb with one answer. It does not repeat it after a failure: a verb may have been carried out although
// its answer was lost.
func call[Res, Req any](ctx context.Context, to *server, verb string, message Req) (answer Res, err error) {
	// The trace is also known if the answer never arrives.
	r, trace := request(ctx, &message)
	res, err := connect.NewClient[rpc.Envelope, rpc.Envelope](to.http, to.base+adminapi.Service+verb, options(rpc.NewEnvelope[Res])...).CallUnary(ctx, r)
	if err != nil {
		return answer, fromConnect(ctx, err, to.addr, trace)
	}
	return *res.Msg.Value.(*Res), nil
}

// do calls a verb whose answer is empty.
func (s *server) do(ctx context.Context, verb string, message any) error {
	_, err := call[adminapi.None](ctx, s, verb, message)
	return err
}

// receive calls one verb with many answers. An error of visit ends it and is returned as it is. Messages are decoded one
// at a time, so memory is bounded by answerMax for any number of messages.
func receive[Res, Req any](ctx context.Context, to *server, verb string, message Req, visit func(*Res) error) error {
	// A cancellation by this function is not one of the caller.
	asker := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, trace := request(ctx, &message)
	s, err := connect.NewClient[rpc.Envelope, rpc.Envelope](to.http, to.base+adminapi.Service+verb, options(rpc.NewEnvelope[Res])...).CallServerStream(ctx, r)
	if err != nil {
		return fromConnect(asker, err, to.addr, trace)
	}
	for s.Receive() {
		if err := visit(s.Msg().Value.(*Res)); err != nil {
			cancel() // before Close, which would otherwise wait for the rest of the answers
			_ = s.Close()
			return err
		}
	}
	err = s.Err()
	_ = s.Close()
	return fromConnect(asker, err, to.addr, trace)
}
