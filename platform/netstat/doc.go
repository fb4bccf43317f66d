// Package netstat samples the network of this machine: its interfaces, and the TCP connections of this process summed by
// peer. It says what happened between two calls and judges nothing; rules/netjudge does, from the samples of many nodes.
//
// # What a sample has
//
// [Sampler.Sample] returns counts of the interval since the call before. A rate is a count divided by its interval.
//
//   - An [Interface] has its state (up, carrier, speed, duplex) and what it received, sent, dropped and damaged.
//   - A [Peer] has what the connections to one address sent, sent again and received, the round trip, and how long senders
//     were busy, and waited for the receiver or for a larger buffer.
//
// TCP counts retransmits where data is sent. So a sample tells of the direction from this machine to the peer, and the
// peer's sample tells of the other one. A retransmit that the receiver calls a duplicate was not a loss: see [Peer.Lost].
//
// # Counters
//
// The kernel has counters that only grow. Three things would make nonsense of a difference, and each gives no counts for
// that interface or connection until the next sample:
//
//   - something that was not there at the call before: an interface that comes back, a number that means another one now;
//   - a counter of bytes or packets that is smaller than before: a driver was loaded again;
//   - more than an interface can carry (plausibleMax): a driver that counts wrong.
//
// A connection that was opened since the call before counts from its beginning. What a connection did between the last call
// and its end is lost, so connections shorter than the interval are seen by chance. Links between nodes live longer.
//
// # Where the numbers come from
//
// Links come from rtnetlink in one request, speeds from ethtool, connections from TCP_INFO of every descriptor of the
// process. DESIGN.md has the reasons and what it costs. A [Sampler] looks at the network namespace of the thread that called
// [New], whatever thread samples later. If a source is forbidden, as containers do, Sample says so once, and the rest works.
//
// # Bounds
//
// At most connectionsMax connections, peersMax peers and interfacesMax interfaces: [Sample.Unseen] counts the others. A
// connection takes 120 bytes. A Sampler has no goroutine. A sample takes about two microseconds a connection, and waits
// for nothing but the kernel's locks: a request to netlink ends after netlinkTimeout, and TCP_INFO waits while another
// thread copies into or out of that socket. One goroutine at a time may use a Sampler.
package netstat
