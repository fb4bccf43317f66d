package server

import (
	"context"
	"errors"
	"time"

	"hemera/tape/session"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// Files opens the contents of files on disk, with what the manager has granted. Package nodeio does it over XRootD. Calls block
// for the node; NotFound or Conflict when the content is gone or another one, and the job is void.
type Files interface {
	// Open opens a file to read it.
	Open(ctx context.Context, g tapeapi.Grant) (session.Content, error)
	// Create begins a content. Nothing of it is visible or durable before its Commit.
	Create(ctx context.Context, g tapeapi.Grant) (session.Target, error)
}

// transit is a method that [Files] may have, too: it returns the time for which contents have been on their way over the network. Without it sessions
// count all waits for contents as the disks'.
type transit interface{ OnTheWay() time.Duration }

// files gives the files of a mount to its session. It implements session.Source and session.Sink.
type files struct {
	desk
	Files
}

// Open implements session.Source.
func (f files) Open(ctx context.Context, job tapeapi.Work) (session.Content, error) {
	g, err := f.grant(ctx, job) // when it is needed: a capability does not last as long as a session
	if err != nil {
		return nil, err
	}
	c, err := f.Files.Open(ctx, g)
	return c, notVoid(err, job)
}

// Create implements session.Sink.
func (f files) Create(ctx context.Context, job tapeapi.Work) (session.Target, error) {
	g, err := f.grant(ctx, job)
	if err != nil {
		return nil, err
	}
	// What it makes is invisible until the commit, so a session that ends leaves nothing.
	t, err := f.Files.Create(ctx, g)
	return t, notVoid(err, job)
}

// notVoid makes sure that a job is tried again: only the manager knows whether a file is gone. A node that does not find a piece says NotFound too.
func notVoid(err error, job tapeapi.Work) error {
	// The next grant names other nodes, or says that the job is void.
	if errors.Is(err, errs.NotFound) || errors.Is(err, errs.Conflict) {
		return &errs.Error{Kind: errs.Unavailable, Op: "tape.Open", Subject: job.Path, Text: "the node does not open the file", Cause: err,
			Remedy: errs.RemedyOf(err)}
	}
	return err
}
