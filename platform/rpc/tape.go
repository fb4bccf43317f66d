package rpc

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

var _ tapeapi.Control = (*Client)(nil)

// tapeMethods has the callers of tapeapi.Control.
type tapeMethods struct {
	report *method[reportLibraryRequest, empty]
	next   *method[nextMountRequest, tapeapi.Mount]
	jobs   *method[tapeJobsRequest, tapeapi.JobsReply]
	grant  *method[tapeGrantRequest, tapeapi.Grant]
	done   *method[tapeDoneRequest, acknowledgement]
}

// reportLibraryRequest reports the state of a library.
type reportLibraryRequest struct {
	Node    hemera.NodeID
	Epoch   hemera.Epoch
	Library tapeapi.Library
}

// nextMountRequest asks for the next mount of a drive.
type nextMountRequest struct {
	Node  hemera.NodeID
	Epoch hemera.Epoch
	Drive string
}

// tapeJobsRequest asks for jobs of a mount.
type tapeJobsRequest struct {
	Node  hemera.NodeID
	Epoch hemera.Epoch
	Want  tapeapi.JobsRequest
}

// tapeGrantRequest asks for the permission for a job.
type tapeGrantRequest struct {
	Node  hemera.NodeID
	Epoch hemera.Epoch
	Mount tapeapi.MountID
	Job   tapeapi.JobKey
}

// tapeDoneRequest reports the results of a mount.
type tapeDoneRequest struct {
	Node    hemera.NodeID
	Epoch   hemera.Epoch
	Results tapeapi.Results
}

// ReportLibrary implements tapeapi.Control.
func (c *Client) ReportLibrary(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, l tapeapi.Library) error {
	_, err := call(ctx, c, c.current.Load().tape.report, callTimeout, &reportLibraryRequest{node, epoch, l})
	return err
}

// NextMount implements tapeapi.Control.
func (c *Client) NextMount(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, drive string) (tapeapi.Mount, error) {
	r, err := call(ctx, c, c.current.Load().tape.next, exchangeTimeout, &nextMountRequest{node, epoch, drive})
	return *r, err
}

// TapeJobs implements tapeapi.Control.
func (c *Client) TapeJobs(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, want tapeapi.JobsRequest) (tapeapi.JobsReply, error) {
	r, err := call(ctx, c, c.current.Load().tape.jobs, callTimeout, &tapeJobsRequest{node, epoch, want})
	return *r, err
}

// TapeGrant implements tapeapi.Control.
func (c *Client) TapeGrant(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, mount tapeapi.MountID, job tapeapi.JobKey) (tapeapi.Grant, error) {
	r, err := call(ctx, c, c.current.Load().tape.grant, callTimeout, &tapeGrantRequest{node, epoch, mount, job})
	return *r, err
}

// TapeDone implements tapeapi.Control.
func (c *Client) TapeDone(ctx context.Context, node hemera.NodeID, epoch hemera.Epoch, r tapeapi.Results) ([]byte, error) {
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
	handle(s, "NextMount", func(ctx context.Context, node hemera.NodeID, r *nextMountRequest) (*tapeapi.Mount, error) {
		if err := s.ownTape(node, r.Node, "NextMount"); err != nil {
			return nil, err
		}
		m, err := tapes.NextMount(ctx, node, r.Epoch, r.Drive)
		return &m, err
	})
	handle(s, "TapeJobs", func(ctx context.Context, node hemera.NodeID, r *tapeJobsRequest) (*tapeapi.JobsReply, error) {
		if err := s.ownTape(node, r.Node, "TapeJobs"); err != nil {
			return nil, err
		}
		jobs, err := tapes.TapeJobs(ctx, node, r.Epoch, r.Want)
		return &jobs, err
	})
	handle(s, "TapeGrant", func(ctx context.Context, node hemera.NodeID, r *tapeGrantRequest) (*tapeapi.Grant, error) {
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
