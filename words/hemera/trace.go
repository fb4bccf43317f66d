package hemera

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

type traceKey struct{}

// NewTraceID makes the id that follows one request through logs and errors: 16 hexadecimal digits.
// It is no secret.
func NewTraceID() string {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], rand.Uint64())
	var text [16]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// WithTrace returns a context that carries the trace id.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// TraceID returns the context's trace id, or "" if it has none.
func TraceID(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}
