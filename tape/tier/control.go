package tier

import (
	"context"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Leases says which nodes are trusted now; the cluster does.
type Leases interface {
	// Check is nil when the node has the lease of the epoch. Fenced.
	Check(node hemera.NodeID, epoch hemera.Epoch) error
	// AwaitCurrent waits until the store is known to be the newest there is.
	// A manager over an older copy would have tapes written over.
	AwaitCurrent(ctx context.Context) error
	// AwaitNewest is that, and does not mind a rebuild.
	AwaitNewest(ctx context.Context) error
	// Mark says how far the store is; see hemera.HeartbeatReply.
	Mark() []byte
}

// What a server may do is bound to its lease, and to its library (trust.go).

// Control is tapeapi.Control: the tier behind the leases of tape
// servers, which are nodes.
type Control struct {
	Tier   *Tier
	Leases Leases
}

var _ tapeapi.Control = Control{}

// ReportLibrary implements tapeapi.Control.
func (c Control) ReportLibrary(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, l tapeapi.Library) error {
	if err := c.Leases.Check(node, epoch); err != nil {
		return err
	}
	// The catalogue may learn something of it, and during a rebuild it must: tapes are scanned then.
	if err := c.Leases.AwaitNewest(ctx); err != nil {
		return err
	}
	_, remote := hemera.Caller(ctx)
	return c.Tier.Servers.Report(ctx, node, !remote, l)
}

// NextMount implements tapeapi.Control.
func (c Control) NextMount(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, drive string) (m tapeapi.Mount, err error) {
	if err := c.newest(ctx, node, epoch); err != nil {
		return m, err
	}
	return c.Tier.Drives.NextMount(ctx, node, drive)
}

// TapeJobs implements tapeapi.Control.
func (c Control) TapeJobs(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, want tapeapi.JobsRequest) (r tapeapi.JobsReply, err error) {
	if err := c.leased(node, epoch); err != nil {
		return r, err
	}
	return c.Tier.Jobs.TapeJobs(ctx, node, want)
}

// TapeGrant implements tapeapi.Control.
func (c Control) TapeGrant(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, mount tapeapi.MountID, job tapeapi.JobKey) (g tapeapi.Grant, err error) {
	if err := c.current(ctx, node, epoch); err != nil {
		return g, err
	}
	return c.Tier.Jobs.TapeGrant(ctx, node, mount, job)
}

// TapeDone implements tapeapi.Control.
func (c Control) TapeDone(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, r tapeapi.Results) ([]byte, error) {
	if err := c.newest(ctx, node, epoch); err != nil {
		return nil, err
	}
	if err := c.Tier.Results.TapeDone(ctx, node, r); err != nil {
		return nil, err
	}
	return c.Leases.Mark(), nil
}

// leased checks the lease, and that the node is admitted as a tape server.
func (c Control) leased(node hemera.NodeID, epoch hemera.Epoch) error {
	if err := c.Leases.Check(node, epoch); err != nil {
		return err
	}
	return c.Tier.Servers.admitted(node)
}

// current does what leased does, and waits until changes are allowed.
func (c Control) current(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch) error {
	if err := c.leased(node, epoch); err != nil {
		return err
	}
	return c.Leases.AwaitCurrent(ctx)
}

// newest does what leased does, and waits until the store is known to be the newest. During a rebuild it returns nil:
// only scans are given then.
func (c Control) newest(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch) error {
	if err := c.leased(node, epoch); err != nil {
		return err
	}
	return c.Leases.AwaitNewest(ctx)
}
