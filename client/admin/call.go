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

// server is the door that a Client asks, and the connections to it.
type server struct {
	base string       // http://host:port, or http://localhost over a unix socket
	addr string       // for errors
	http *http.Client // has no timeout: a verb may take as long as it needs, and its context ends it
}

// options are those of every call.
func options(answer func(connect.Spec, any) error) []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithCodec(rpc.EnvelopeCodec(adminapi.Codec{})), connect.WithResponseInitializer(answer), connect.WithReadMaxBytes(answerMax),
		// Most calls stay on the manager's own machine: compressing would cost more than sending.
		connect.WithAcceptCompression("gzip", nil, nil),
	}
}

// request puts the context's trace id, or a new one, on a message.
// The trace joins the lines that one command causes in the logs of the client, the manager and the nodes.
func request(ctx context.Context, message any) (r *connect.Request[rpc.Envelope], trace string) {
	if trace = hemera.TraceID(ctx); trace == "" {
		trace = hemera.NewTraceID()
	}
	r = connect.NewRequest(&rpc.Envelope{Value: message})
	r.Header().Set(adminapi.TraceHeader, trace)
	return r, trace
}

// call does one verb with one answer.
// It is not repeated after a failure: a verb may have been done although its answer was lost.
func call[Res, Req any](ctx context.Context, to *server, verb string, message Req) (answer Res, err error) {
	// The trace is known also if the answer never comes.
	r, trace := request(ctx, &message)
	res, err := connect.NewClient[rpc.Envelope, rpc.Envelope](to.http, to.base+adminapi.Service+verb, options(rpc.NewEnvelope[Res])...).CallUnary(ctx, r)
	if err != nil {
		return answer, fromConnect(ctx, err, to.addr, trace)
	}
	return *res.Msg.Value.(*Res), nil
}

// do is a call whose answer is empty.
func (s *server) do(ctx context.Context, verb string, message any) error {
	_, err := call[adminapi.None](ctx, s, verb, message)
	return err
}

// receive does one verb with many answers; visit's error ends it and is returned as it is.
// Messages are decoded one at a time, so memory is bounded by answerMax whatever the number of messages.
func receive[Res, Req any](ctx context.Context, to *server, verb string, message Req, visit func(*Res) error) error {
	// A cancellation of our own is not the caller's.
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
			cancel() // before Close, which would otherwise wait for what the server still has to say
			_ = s.Close()
			return err
		}
	}
	err = s.Err()
	_ = s.Close()
	return fromConnect(asker, err, to.addr, trace)
}
