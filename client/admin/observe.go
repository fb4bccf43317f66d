package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Observe has the calls for measurements. It implements adminapi.Observer.
type Observe struct{ server *server }

// Operations implements adminapi.Observer.
func (c Observe) Operations(ctx context.Context) ([]adminapi.OpStat, error) {
	return call[[]adminapi.OpStat](ctx, c.server, "Operations", adminapi.None{})
}

// Sessions implements adminapi.Observer.
func (c Observe) Sessions(ctx context.Context) ([]adminapi.SessionInfo, error) {
	return call[[]adminapi.SessionInfo](ctx, c.server, "Sessions", adminapi.None{})
}

// OpenFiles implements adminapi.Observer.
func (c Observe) OpenFiles(ctx context.Context) (adminapi.OpenFiles, error) {
	return call[adminapi.OpenFiles](ctx, c.server, "OpenFiles", adminapi.None{})
}

// Measure implements adminapi.Observer.
func (c Observe) Measure(ctx context.Context, node hemera.NodeID, command []string) ([]byte, error) {
	m, err := call[adminapi.Measured](ctx, c.server, "Measure", adminapi.MeasureRequest{Node: node, Command: command})
	return m.JSON, err
}

// NamespaceStats implements adminapi.Observer.
func (c Observe) NamespaceStats(ctx context.Context) (adminapi.NamespaceStats, error) {
	return call[adminapi.NamespaceStats](ctx, c.server, "NamespaceStats", adminapi.None{})
}

// Events implements adminapi.Observer; an answer has at most 10,000 events.
func (c Observe) Events(ctx context.Context, after uint64, limit int) ([]hemera.Event, error) {
	return call[[]hemera.Event](ctx, c.server, "Events", adminapi.EventsRequest{After: after, Limit: limit})
}
