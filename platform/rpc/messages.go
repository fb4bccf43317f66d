package rpc

import (
	"time"

	"hemera/words/hemera"
)

// Path is the prefix of every method's URL; a manager mounts the server there.
const Path = "/hemera.control.v1/"

// The headers.
const (
	headerTrace = "Hemera-Trace" // of a request: its trace id
	headerError = "Hemera-Error" // of an answer: see failure
)

// The messages of methods that take or return more than one value. Methods with one struct send
// that struct. Names are the wire form; only add.

// empty is what a method returns that has nothing to say; later versions may add fields.
type empty struct{}

// heartbeatRequest renews a node's lease.
type heartbeatRequest struct {
	Node   hemera.NodeID
	Epoch  uint64
	Report hemera.NodeReport
}

// exchangeRequest returns results of orders and waits for new ones.
type exchangeRequest struct {
	Node    hemera.NodeID
	Epoch   uint64
	Results []hemera.OrderResult
}

// commitRequest is hemera.CommitRequest with the permit as its token.
type commitRequest struct {
	Token      string
	Size       int64
	Checksums  []hemera.Checksum
	Pieces     []hemera.Piece
	Mtime      time.Time
	Xattrs     map[string][]byte
	XattrsGone []string `cbor:",omitempty"`
	Left       bool     `cbor:",omitempty"`
}

// acknowledgement says that a change is durable, and how far the store is with it.
type acknowledgement struct {
	Seen []byte `cbor:",omitempty"`
}

// newCommitRequest signs the permit if that was not done yet.
func newCommitRequest(r *hemera.CommitRequest) (*commitRequest, error) {
	token, err := r.Permit.Token()
	return &commitRequest{token, r.Size, r.Checksums, r.Pieces, r.Mtime, r.Xattrs, r.XattrsGone, r.Left}, err
}

// request is what the manager gets: a permit that it has to verify.
func (r *commitRequest) request() hemera.CommitRequest {
	return hemera.CommitRequest{Permit: hemera.ParsePermit(r.Token), Size: r.Size, Checksums: r.Checksums, Pieces: r.Pieces,
		Mtime: r.Mtime, Xattrs: r.Xattrs, XattrsGone: r.XattrsGone, Left: r.Left}
}

// grantReply is hemera.Grant with the permit as its token, and what the token says: a node believes its manager.
type grantReply struct {
	Addr  string
	Token string
	Cap   hemera.Capability
}

// newGrantReply signs the permit if that was not done yet.
func newGrantReply(g *hemera.Grant) (*grantReply, error) {
	token, err := g.Permit.Token()
	return &grantReply{g.Addr, token, g.Permit.Capability}, err
}

// grant is what the node gets.
func (r *grantReply) grant() hemera.Grant {
	return hemera.Grant{Addr: r.Addr, Permit: hemera.VerifiedPermit(r.Cap, r.Token)}
}

// abortRequest ends a write without a commit.
type abortRequest struct{ Token string }

// keepRequest says that a write is kept without its client.
type keepRequest struct {
	Token string
	Size  int64
}

// replaceRequest asks for other disks in place of those that failed.
type replaceRequest struct {
	Token  string
	Failed []hemera.DiskID
}

// resolveRequest asks which file an id is.
type resolveRequest struct{ ID hemera.FileID }

// resolveReply has the entry and where it is now.
type resolveReply struct {
	Entry hemera.Entry
	Path  string
}

// mayFetchRequest asks whether a third-party copy may read from a source.
type mayFetchRequest struct{ Source hemera.CopySource }

// joinRequest asks for a node's first certificate.
type joinRequest struct {
	Secret  string // of the join token
	Request []byte // PKCS #10, DER
}

// renewRequest asks for a node's next certificate.
type renewRequest struct {
	Request []byte // PKCS #10, DER
}

// certificateReply answers both.
type certificateReply struct {
	Chain []byte // PEM: the node's certificate, then the authority's
}
