package xrd

import (
	"hemera/rules/wire"
)

// subject is the kind of object that a request is about. It decides which part of a role serves the request.
type subject uint8

const (
	aboutSession subject = iota
	aboutName            // a path in the namespace
	aboutFile            // an open file
	aboutEither          // a path, or an open file if the path is empty
)

// operation is one kind of request: its properties in the protocol, and the handler of this server.
type operation struct {
	subject     subject
	beforeLogin bool    // allowed before authentication
	streams     bool    // the payload is file data, which the handler reads
	payloadMax  int     // otherwise the longest payload, in bytes
	handler     handler // nil: the role does not support it
}

const (
	operationsCount = wire.ReqClone - wire.ReqAuth + 1
	// pathsMax bounds a list of paths, in bytes.
	pathsMax = 1 << 20
	// attributesMax bounds the payload of kXR_fattr, in bytes: all names and values of the largest size.
	attributesMax = 8192 + wire.FattrMaxNames*(wire.FattrMaxName+wire.FattrMaxValue+16)
)

// protocolTable returns the properties of each kind of request that any role serves, by [wire.RequestID] (§1). It is the
// same for all roles.
func protocolTable() map[wire.RequestID]operation {
	return map[wire.RequestID]operation{
		wire.ReqProtocol: {subject: aboutSession, beforeLogin: true},
		wire.ReqLogin:    {subject: aboutSession, beforeLogin: true},
		wire.ReqAuth:     {subject: aboutSession, beforeLogin: true},
		wire.ReqBind:     {subject: aboutSession, beforeLogin: true},
		wire.ReqPing:     {subject: aboutSession, beforeLogin: true},
		wire.ReqSigver:   {subject: aboutSession, beforeLogin: true},
		wire.ReqEndsess:  {subject: aboutSession},
		wire.ReqSet:      {subject: aboutSession},
		wire.ReqQuery:    {subject: aboutSession, payloadMax: callMax},

		wire.ReqStatx:   {subject: aboutName, payloadMax: pathsMax},
		wire.ReqDirlist: {subject: aboutName},
		wire.ReqMkdir:   {subject: aboutName},
		wire.ReqRm:      {subject: aboutName},
		wire.ReqRmdir:   {subject: aboutName},
		wire.ReqMv:      {subject: aboutName},
		wire.ReqChmod:   {subject: aboutName},
		wire.ReqLocate:  {subject: aboutName},
		wire.ReqOpen:    {subject: aboutName},
		wire.ReqPrepare: {subject: aboutName, payloadMax: pathsMax},

		wire.ReqClose:    {subject: aboutFile},
		wire.ReqRead:     {subject: aboutFile},
		wire.ReqReadv:    {subject: aboutFile},
		wire.ReqPgread:   {subject: aboutFile},
		wire.ReqWrite:    {subject: aboutFile, streams: true},
		wire.ReqWritev:   {subject: aboutFile},
		wire.ReqPgwrite:  {subject: aboutFile, streams: true},
		wire.ReqSync:     {subject: aboutFile},
		wire.ReqChkpoint: {subject: aboutFile},

		wire.ReqStat:     {subject: aboutEither},
		wire.ReqTruncate: {subject: aboutEither},
		wire.ReqFattr:    {subject: aboutEither, payloadMax: attributesMax},
	}
}
