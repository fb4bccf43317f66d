package namespace

import "context"

type relaxedKey struct{}

// Relaxed makes a context whose calls do not wait for the disk: they answer when a change is visible,
// and a power cut may take it back. It is for measuring what that wait costs, and for nothing else: no
// door gives it to a client. Answers to others still wait for all they saw, relaxed changes included.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// strict takes [Relaxed] back.
func strict(ctx context.Context) context.Context {
	if !relaxed(ctx) {
		return ctx
	}
	return context.WithValue(ctx, relaxedKey{}, false)
}

func relaxed(ctx context.Context) bool {
	yes, _ := ctx.Value(relaxedKey{}).(bool)
	return yes
}
