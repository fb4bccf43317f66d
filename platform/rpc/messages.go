package rpc

import (
	"time"

	"hemera"
)

// Path is the prefix of every method's URL; a manager mounts the server there.
const Path = "/hemera.control.v1/"

// The headers.
const (
	headerTrace = "Hemera-Trace"
	headerError = "Hemera-Error"
)

// The messages of methods that take or return more than one value. Methods with one struct send
// that struct. Names are the wire form; only add.

type empty struct{}

type heartbeatRequest struct {
	Node   hemera.NodeID
	Epoch  uint64
	Report hemera.NodeReport
}

type exchangeRequest struct {
	Node    hemera.NodeID
	Epoch   uint64
	Results []hemera.OrderResult
}

type exchangeReply struct{ Orders []hemera.Order }

// commitRequest is hemera.CommitRequest with the permit as its token.
type commitRequest struct {
	Token      string
	Size       int64
	Checksums  []hemera.Checksum
	Pieces     []hemera.Piece
	Mtime      time.Time
	Xattrs     map[string][]byte
	XattrsGone []string `cbor:",omitempty"`
}

func newCommitRequest(r *hemera.CommitRequest) (*commitRequest, error) {
	token, err := r.Permit.Token()
	return &commitRequest{token, r.Size, r.Checksums, r.Pieces, r.Mtime, r.Xattrs, r.XattrsGone}, err
}

func (r *commitRequest) request() hemera.CommitRequest {
	return hemera.CommitRequest{Permit: hemera.ParsePermit(r.Token), Size: r.Size, Checksums: r.Checksums, Pieces: r.Pieces,
		Mtime: r.Mtime, Xattrs: r.Xattrs, XattrsGone: r.XattrsGone}
}

// grantReply is hemera.Grant with the permit as its token, and what the token says: a node believes its manager.
type grantReply struct {
	Addr  string
	Token string
	Cap   hemera.Capability
}

func newGrantReply(g *hemera.Grant) (*grantReply, error) {
	token, err := g.Permit.Token()
	return &grantReply{g.Addr, token, g.Permit.Capability}, err
}

func (r *grantReply) grant() hemera.Grant {
	return hemera.Grant{Addr: r.Addr, Permit: hemera.VerifiedPermit(r.Cap, r.Token)}
}

type abortRequest struct{ Token string }

type replaceRequest struct {
	Token  string
	Failed []hemera.DiskID
}

type resolveRequest struct{ ID hemera.FileID }

type resolveReply struct {
	Entry hemera.Entry
	Path  string
}

type mayFetchRequest struct{ Source hemera.CopySource }

type joinRequest struct {
	Secret  string
	Request []byte // PKCS #10, DER
}

type renewRequest struct {
	Request []byte // PKCS #10, DER
}

type certificateReply struct {
	Chain []byte // PEM: the node's certificate, then the authority's
}
