// Package netjudge finds the nodes of a cluster that lose packets, from what all nodes count. It is pure: [Step] takes a
// state, a matrix of counts and the time, and returns the next state and a verdict for each node.
//
// # Problem
//
// A node that loses one packet in a hundred still answers everything, and every file that has a piece on it is slow. Its own
// counters may be clean: a switch can drop what the node sent well. TCP sees it, at the sender of what was lost. One sender's
// numbers do not say where: at its own port, at the receiver's, or between. The numbers of all pairs do.
//
// # Matrix
//
// Each [Node] reports for each peer how many segments it sent and how many of them were lost ([Path]). So each pair has two
// directions, and each is counted at its sender. A row of the matrix is what a node sends, a column is what it receives:
//
//   - most of a row loses, and other pairs do not: the node loses what it sends (Out);
//   - most of a column does: it loses what it receives (In);
//   - one cell only: the path between two nodes;
//   - rows of several nodes, but not the cells between them: what they share, such as the uplink of a switch.
//
// A row or column is judged without its worst cell, so that a bad path does not look like a bad node. The node that explains
// the most losing paths is taken first, and its paths are left out when the next one is looked for. A node's receivers are
// therefore not blamed for it. [Interface] counters and the state of links are judged besides: a link that is down, slower
// than it was or than those of most nodes, or that counts damaged packets.
//
// What a node sends to clients ([Clients]) is compared with what others send to theirs: clients may be far away, and lose on
// their own side. With fewer than two others to compare with, it is not judged as a path.
//
// # How much traffic is enough
//
// Loss is a share, and a share of few packets says little. With r of n segments lost, the true share lies in
// Wilson's interval around r/n. A node is suspected if the lower end is above the limit, with zSuspect standard
// deviations, and is well if the upper end is below it, with zWell. Losses come in bursts, as a queue that is full drops
// several packets in a row; so burst losses count as one. The limit is lossMin, or relativeLimit times what is usual at the
// other nodes, if that is more: in a cluster that is overloaded everywhere, nobody is suspected for it.
//
// [SegmentsToSuspect] computes the number: 4,000 segments (6 MB) show a loss of 0.5 %, and 400 one of 2 %. [SegmentsToClear] of them
// without a loss, 16,000 (23 MB), show that there is none. With fewer nothing can be said, which is a verdict too.
//
// # States
//
// Counts are kept with a memory of one minute, in which they fade. A node is well, suspected or unknown:
//
//	any → suspected      suspectAfter steps in a row that find a cause; new reports must show it too
//	suspected → well     wellAfter steps without a cause, in which enough traffic shows that it is well; a cause starts both again
//	suspected → unknown  no cause for forgetAfter, and too little traffic to clear it: its lower weight may be why, so it ends
//
// Steps without news from a node change nothing for it. The manager steps once a sample, every 10 s or so: 30 s to suspect, and
// 100 s after the last losses have faded.
//
// # Weight
//
// [Verdict.Weight] is in (0,1], and 1 for all but suspected nodes. TCP's rate falls with the root of the loss and with the
// round trip, so the weight does. It does not reach 0: a node that gets nothing cannot show that it is well.
//
// # Cost and concurrency
//
// A step of 125 nodes that all talk takes 7 ms and 2.4 MB of garbage, one of 500 nodes 130 ms: it is made once a sample. A [State] is never changed after Step returned it;
// calls may be concurrent.
package netjudge
