package record

import "context"

type relaxedKey struct{}

// Relaxed makes a context whose calls do not wait for the disk: they return when a change is visible, and a
// power cut may undo it. It exists to measure what that wait costs, and no door gives it to a client. Answers to
// other callers still wait for everything they saw, relaxed changes included.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// strict undoes [Relaxed].
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
