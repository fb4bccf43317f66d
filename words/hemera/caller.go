package hemera

import "context"

type callerKey struct{}

// WithCaller returns a context of a call that the node made, as its certificate says.
func WithCaller(ctx context.Context, node NodeID) context.Context {
	return context.WithValue(ctx, callerKey{}, node)
}

// Caller returns the node that made the call; false for calls of the manager's own process.
func Caller(ctx context.Context) (NodeID, bool) {
	node, ok := ctx.Value(callerKey{}).(NodeID)
	return node, ok
}
