package translate

import (
	"hemera"
	"hemera/rules/wire"
)

// Stock clients take from a server's URL how often they try to connect to it (XrdCl::Stream), so a redirect can say it.
// By default they try a server that refuses connections once in 120 s, which is as long as they wait for one that is
// silent, and then do not use it for half an hour. That is far longer than a node takes to start again, and the manager
// knows the state of its nodes better. With these hints they open a connection every ConnectionWindow seconds,
// ConnectionRetry times, before they return to the manager or fail.
const (
	retryEvery5s   = "XrdCl.ConnectionWindow=5&XrdCl.StreamErrorWindow=5&XrdCl.ConnectionRetry="
	RetryElsewhere = retryEvery5s + "2"  // there is another node to read from: 5 s if the port is closed, 10 s if the host is silent
	RetryWrite     = retryEvery5s + "6"  // a node starts again in that time
	RetryLast      = retryEvery5s + "24" // nothing else can be read: two minutes
)

// RetryHint says for how long the client is to try to reach the head of its grant.
func RetryHint(g *hemera.Grant, access hemera.Access) wire.Opaque {
	if access != hemera.AccessRead { // a write has one head, and nowhere else to go
		return RetryWrite
	}
	for _, t := range g.Permit.Targets {
		if t.Addr != g.Addr {
			return RetryElsewhere
		}
	}
	return RetryLast
}
