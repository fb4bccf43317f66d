// Package netstat samples the network of this machine: its interfaces, and the TCP connections of this process summed by
// peer. It reports the events between two calls and does not judge them; rules/netjudge does, from the samples of many
// nodes.
//
// # Samples
//
// [Sampler.Sample] returns counts of the interval since the call before. A rate is a count divided by its interval.
//
//   - An [Interface] has its state (up, carrier, speed, duplex) and the packets that it received, sent, dropped and
//     damaged.
//   - A [Peer] has the segments that the connections to one address sent, retransmitted and received, the round trip,
//     and the times for which senders were busy, and waited for the receiver or for a larger buffer.
//
// TCP counts retransmits at the sender. So a sample describes the direction from this machine to the peer, and the peer's
// sample the other one. A retransmit that the receiver calls a duplicate was not a loss: see [Peer.Lost].
//
// # Counters
//
// The kernel's counters only grow. In three cases a difference would be wrong; then that interface or connection has no
// counts until the next sample:
//
//   - it did not exist at the call before: an interface that comes back, a number that names another one now;
//   - a counter of bytes or packets is smaller than before: a driver was loaded again;
//   - the difference is more than an interface can carry (plausibleMax): a driver counts wrong.
//
// A connection that was opened since the call before counts from its beginning. Traffic between the last call and the end
// of a connection is lost, so connections shorter than the interval are seen by chance. Links between nodes live longer.
//
// # Sources
//
// Links come from rtnetlink in one request, speeds from ethtool, connections from TCP_INFO of every descriptor of the
// process. DESIGN.md has the reasons and the costs. A [Sampler] reads the network namespace of the thread that called
// [New], whichever thread samples later. If a source is forbidden, as in containers, Sample returns an error once, and
// the other sources work.
//
// # Bounds
//
// There are at most connectionsMax connections, peersMax peers and interfacesMax interfaces: [Sample.Unseen] counts the
// others. A connection takes 120 bytes. A Sampler has no goroutine. A sample takes about two microseconds for each
// connection, and blocks only on the kernel's locks: a request to netlink ends after netlinkTimeout, and TCP_INFO waits
// while another thread copies into or out of that socket. A Sampler is not safe for concurrent use.
package netstat
