package hemera

import "context"

// NotYet is the error of an open that is likely to succeed soon without any act of its client: nodes are about to come back, or the
// manager is about to know that its store is current. A door may hold such an open, and ask again when Await has returned. It is
// immutable.
type NotYet struct {
	// Err says what is missing, for clients that are sent away. Its kind is Unavailable.
	Err error
	// Await blocks until there is a reason to ask again, which is no promise that the open succeeds then. It fails with Timeout or
	// Cancelled if ctx ends first. It is safe for concurrent use.
	Await func(ctx context.Context) error
}

// Error returns the text of Err.
func (n *NotYet) Error() string { return n.Err.Error() }

// Unwrap returns Err.
func (n *NotYet) Unwrap() error { return n.Err }
