package rpc

import (
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
