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

// The messages of methods that take or return more than one value. Methods with one struct send that struct. Names are
// the wire format: fields may only be added.

// empty is the result of a method without results; later versions may add fields.
type empty struct{}

// heartbeatRequest renews a node's lease.
type heartbeatRequest struct {
	Node   hemera.NodeID
	Epoch  hemera.Epoch
	Report hemera.NodeReport
}

// exchangeRequest returns results of orders and waits for new ones.
type exchangeRequest struct {
	Node    hemera.NodeID
	Epoch   hemera.Epoch
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

// acknowledgement says that a change is durable, and the version of the store that has it.
type acknowledgement struct {
	Seen []byte `cbor:",omitempty"`
}

// newCommitRequest makes the message of a commit. It signs the permit if that was not done yet.
func newCommitRequest(r *hemera.CommitRequest) (*commitRequest, error) {
	token, err := r.Permit.Token()
	return &commitRequest{token, r.Size, r.Checksums, r.Pieces, r.Mtime, r.Xattrs, r.XattrsGone, r.Left}, err
}

// request returns the request for the manager, with a permit that it has to verify.
func (r *commitRequest) request() hemera.CommitRequest {
	return hemera.CommitRequest{Permit: hemera.ParsePermit(r.Token), Size: r.Size, Checksums: r.Checksums, Pieces: r.Pieces,
		Mtime: r.Mtime, Xattrs: r.Xattrs, XattrsGone: r.XattrsGone, Left: r.Left}
}

// grantReply is hemera.Grant with the permit as its token, and the decoded capability: a node trusts its manager.
type grantReply struct {
	Addr  string
	Token string
	Cap   hemera.Capability
}

// newGrantReply makes the message of a grant. It signs the permit if that was not done yet.
func newGrantReply(g *hemera.Grant) (*grantReply, error) {
	token, err := g.Permit.Token()
	return &grantReply{g.Addr, token, g.Permit.Capability}, err
}

// grant returns the grant for the node.
func (r *grantReply) grant() hemera.Grant {
	return hemera.Grant{Addr: r.Addr, Permit: hemera.VerifiedPermit(r.Cap, r.Token)}
}

// abortRequest ends a write without a commit.
type abortRequest struct{ Token string }

// keepRequest says that a node keeps a write without its client.
type keepRequest struct {
	Token string
	Size  int64
}

// announceRequest is hemera.Announcement with the permits as their tokens.
type announceRequest struct {
	Node   hemera.NodeID
	Epoch  hemera.Epoch
	Writes []announcedWrite
	More   bool `cbor:",omitempty"`
}

// announcedWrite is hemera.OpenWrite.
type announcedWrite struct {
	Token    string
	Age      time.Duration
	Size     int64
	Idle     time.Duration
	Attached bool
}

// newAnnounceRequest makes the message of an announcement. It signs permits that were not signed yet.
func newAnnounceRequest(a *hemera.Announcement) (*announceRequest, error) {
	r := &announceRequest{Node: a.Node, Epoch: a.Epoch, Writes: make([]announcedWrite, len(a.Writes)), More: a.More}
	for i, w := range a.Writes {
		token, err := w.Permit.Token()
		if err != nil {
			return nil, err
		}
		r.Writes[i] = announcedWrite{token, w.Age, w.Size, w.Idle, w.Attached}
	}
	return r, nil
}

// announcement returns the announcement for the manager, with permits that it has to verify.
func (r *announceRequest) announcement() hemera.Announcement {
	a := hemera.Announcement{Node: r.Node, Epoch: r.Epoch, Writes: make([]hemera.OpenWrite, len(r.Writes)), More: r.More}
	for i, w := range r.Writes {
		a.Writes[i] = hemera.OpenWrite{Permit: hemera.ParsePermit(w.Token), Age: w.Age, Size: w.Size, Idle: w.Idle, Attached: w.Attached}
	}
	return a
}

// replaceRequest asks for other disks instead of the failed ones.
type replaceRequest struct {
	Token  string
	Failed []hemera.DiskID
}

// resolveRequest asks for the file with an id.
type resolveRequest struct{ ID hemera.FileID }

// resolveReply has the entry and its current path.
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

// certificateReply answers both requests for certificates.
type certificateReply struct {
	Chain []byte // PEM: the node's certificate, then the authority's
}
