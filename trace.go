package hemera

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

type traceKey struct{}

// NewTraceID makes the id that follows one request through logs and errors: 16 hexadecimal digits.
func NewTraceID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
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
