package rpc

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
)

var _ hemera.TapeControl = (*Client)(nil)

// tapeMethods has the callers of hemera.TapeControl.
type tapeMethods struct {
	report *method[reportLibraryRequest, empty]
	next   *method[nextMountRequest, hemera.TapeMount]
	jobs   *method[tapeJobsRequest, hemera.TapeJobsReply]
	grant  *method[tapeGrantRequest, hemera.TapeGrant]
	done   *method[tapeDoneRequest, acknowledgement]
}

// reportLibraryRequest reports the state of a library.
type reportLibraryRequest struct {
	Node    hemera.NodeID
	Epoch   uint64
	Library hemera.TapeLibrary
}

// nextMountRequest asks for the next mount of a drive.
type nextMountRequest struct {
	Node  hemera.NodeID
	Epoch uint64
	Drive string
}

// tapeJobsRequest asks for jobs of a mount.
type tapeJobsRequest struct {
	Node  hemera.NodeID
	Epoch uint64
	Want  hemera.TapeJobsRequest
}

// tapeGrantRequest asks for the permission for a job.
type tapeGrantRequest struct {
	Node  hemera.NodeID
	Epoch uint64
	Mount uint64
	Job   hemera.TapeJobKey
}

// tapeDoneRequest reports the results of a mount.
type tapeDoneRequest struct {
	Node    hemera.NodeID
	Epoch   uint64
	Results hemera.TapeResults
}

// ReportLibrary implements hemera.TapeControl.
func (c *Client) ReportLibrary(ctx context.Context, node hemera.NodeID, epoch uint64, l hemera.TapeLibrary) error {
	_, err := call(ctx, c, c.current.Load().tape.report, callTimeout, &reportLibraryRequest{node, epoch, l})
	return err
}

// NextMount implements hemera.TapeControl.
func (c *Client) NextMount(ctx context.Context, node hemera.NodeID, epoch uint64, drive string) (hemera.TapeMount, error) {
	r, err := call(ctx, c, c.current.Load().tape.next, exchangeTimeout, &nextMountRequest{node, epoch, drive})
	return *r, err
}

// TapeJobs implements hemera.TapeControl.
func (c *Client) TapeJobs(ctx context.Context, node hemera.NodeID, epoch uint64, want hemera.TapeJobsRequest) (hemera.TapeJobsReply, error) {
	r, err := call(ctx, c, c.current.Load().tape.jobs, callTimeout, &tapeJobsRequest{node, epoch, want})
	return *r, err
}

// TapeGrant implements hemera.TapeControl.
func (c *Client) TapeGrant(ctx context.Context, node hemera.NodeID, epoch uint64, mount uint64, job hemera.TapeJobKey) (hemera.TapeGrant, error) {
	r, err := call(ctx, c, c.current.Load().tape.grant, callTimeout, &tapeGrantRequest{node, epoch, mount, job})
	return *r, err
}

// TapeDone implements hemera.TapeControl.
func (c *Client) TapeDone(ctx context.Context, node hemera.NodeID, epoch uint64, r hemera.TapeResults) ([]byte, error) {
	reply, err := call(ctx, c, c.current.Load().tape.done, callTimeout, &tapeDoneRequest{node, epoch, r})
	return reply.Seen, err
}

// routeTapes registers the methods of tape servers. A node may act for itself only.
func (s *server) routeTapes() {
	tapes := s.options.Tapes
	handle(s, "ReportLibrary", func(ctx context.Context, node hemera.NodeID, r *reportLibraryRequest) (*empty, error) {
		if err := s.ownTape(node, r.Node, "ReportLibrary"); err != nil {
			return nil, err
		}
		return &empty{}, tapes.ReportLibrary(ctx, node, r.Epoch, r.Library)
	})
	handle(s, "NextMount", func(ctx context.Context, node hemera.NodeID, r *nextMountRequest) (*hemera.TapeMount, error) {
		if err := s.ownTape(node, r.Node, "NextMount"); err != nil {
			return nil, err
		}
		m, err := tapes.NextMount(ctx, node, r.Epoch, r.Drive)
		return &m, err
	})
	handle(s, "TapeJobs", func(ctx context.Context, node hemera.NodeID, r *tapeJobsRequest) (*hemera.TapeJobsReply, error) {
		if err := s.ownTape(node, r.Node, "TapeJobs"); err != nil {
			return nil, err
		}
		jobs, err := tapes.TapeJobs(ctx, node, r.Epoch, r.Want)
		return &jobs, err
	})
	handle(s, "TapeGrant", func(ctx context.Context, node hemera.NodeID, r *tapeGrantRequest) (*hemera.TapeGrant, error) {
		if err := s.ownTape(node, r.Node, "TapeGrant"); err != nil {
			return nil, err
		}
		grant, err := tapes.TapeGrant(ctx, node, r.Epoch, r.Mount, r.Job)
		return &grant, err
	})
	handle(s, "TapeDone", func(ctx context.Context, node hemera.NodeID, r *tapeDoneRequest) (*acknowledgement, error) {
		if err := s.ownTape(node, r.Node, "TapeDone"); err != nil {
			return nil, err
		}
		seen, err := tapes.TapeDone(ctx, node, r.Epoch, r.Results)
		return &acknowledgement{seen}, err
	})
}

// ownTape refuses tape calls of a node that acts for another. It refuses all if the manager has no tapes.
func (s *server) ownTape(caller, named hemera.NodeID, method string) error {
	if s.options.Tapes == nil {
		return errs.New(errs.Unsupported, "rpc."+method, named.String(), "this manager has no tapes").
			WithRemedy("upgrade the manager before the nodes")
	}
	return itself(caller, named, method)
}
