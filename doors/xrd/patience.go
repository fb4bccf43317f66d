package xrd

import (
	"hemera"
	"hemera/rules/wire"
)

// Stock clients take their patience with a server from its URL (XrdCl::Stream), so a redirect can say it.
// By themselves they try a server that refuses connections once in 120 s, which is as long as they take
// over one that is silent, and then have nothing to do with it for half an hour: far longer than a node
// takes to start again, and the manager knows the state of its nodes better. They open a connection every
// ConnectionWindow seconds, ConnectionRetry times, before they go back to the manager or give up.
const (
	patient    = "XrdCl.ConnectionWindow=5&XrdCl.StreamErrorWindow=5&XrdCl.ConnectionRetry="
	triesElse  = patient + "2"  // there is another node to read from: 5 s where nobody listens, 10 s if nobody answers
	triesWrite = patient + "6"  // a node starts again in that time
	triesOnly  = patient + "24" // nothing else can be read: two minutes
)

// patience is how long the client is to try to reach the head of its grant.
func patience(g *hemera.Grant, access hemera.Access) wire.Opaque {
	if access != hemera.AccessRead {
		return triesWrite
	}
	for _, t := range g.Permit.Targets {
		if t.Addr != g.Addr {
			return triesElse
		}
	}
	return triesOnly
}
