package hemera

import "context"

// CopyRules say where a node may fetch the sources of third-party copies from. A node asks before each connection
// that it makes for one. It blocks for a round trip to the manager.
type CopyRules interface {
	// MayFetch is nil when the node may read from the source. Denied says why not: that is for the node's
	// log, and not for the client that named the source. Nothing is kept of the question; who gets another
	// error does not connect, and may ask again.
	MayFetch(ctx context.Context, s CopySource) error
}

// CopySource is a server that a third-party copy would read from.
type CopySource struct {
	Node NodeID // who would connect; a node that calls from another process is known by its certificate
	Name string // host:port, as the client or a redirect named it
	Addr string // ip:port, to which the node would connect
}
