// Package netjudge finds the nodes of a cluster that lose packets, from the counters of all nodes. It is pure: [Step]
// takes a state, a matrix of counts and the time, and returns the next state and a verdict for each node.
//
// # Problem
//
// A node that loses one packet in a hundred still answers all requests, but every file with a piece on it is slow. Its
// own counters may be clean: a switch can drop packets that the node sent correctly. The TCP sender of the lost packets
// sees the loss. The numbers of one sender do not show the place: its own port, the receiver's port, or a link between
// them. The numbers of all pairs do.
//
// # Matrix
//
// Each [Node] reports for each peer how many segments it sent and how many of them were lost ([Path]). So each pair has
// two directions, and each is counted at its sender. A row of the matrix has the segments that a node sends, a column
// those that it receives:
//
//   - most of a row loses, and other pairs do not: the node loses segments that it sends (Out);
//   - most of a column loses: the node loses segments that it receives (In).
//
// A row or column is judged without its worst cell, so that a bad path does not look like a bad node. The search first
// takes the node that explains the most losing paths, and leaves out its paths in the search for the next one. So the
// receivers of that node are not blamed for it. All clients ([Clients]) are one path of a node. [State.Worst] shows a single
// path that loses, which blames no node. `hemera doctor` finds links that are down, slow or damaged on their machine.
//
// # Amount of traffic
//
// Loss is a share, and a share of few packets has little meaning. If r of n segments are lost, the true share lies in
// Wilson's interval around r/n. A node is suspected if the lower end is above the limit, with zSuspect standard
// deviations, and is well if the upper end is below it, with zWell. Losses come in bursts, as a full queue drops several
// packets in a row; so burst losses count as one. The limit is the larger of lossMin and relativeLimit times the usual
// loss at the other nodes: if a cluster is overloaded everywhere, no node is suspected for it.
//
// [SegmentsToSuspect] computes the number: 4,000 segments (6 MB) show a loss of 0.5 %, and 400 one of 2 %.
// [SegmentsToClear] segments without a loss, 16,000 (23 MB), show that there is none. With fewer segments the verdict is
// [Unknown].
//
// # States
//
// Counts fade with a time constant of one minute. A node is well, suspected or unknown:
//
//	any → suspected      suspectAfter steps in a row that find a cause; new reports must show it too
//	suspected → well     wellAfter steps without a cause, with enough traffic to show that it is well; a cause starts both again
//	suspected → unknown  no cause for forgetAfter, and too little traffic to clear it: perhaps because of its lower weight
//
// A step without a new report from a node does not change the node's standing. The manager runs a step for each sample,
// every 10 s or so: 30 s to suspect, and 100 s after the last losses have faded.
//
// # Weight
//
// [Verdict.Weight] is in (0,1], and 1 for all nodes that are not suspected. TCP's rate falls with the root of the loss
// and with the round trip, and so does the weight. It does not reach 0: a node without traffic cannot show that it is
// well.
//
// # Cost and concurrency
//
// A step of 125 nodes that all talk to each other takes 7 ms and makes 2.4 MB of garbage; one of 500 nodes takes 130 ms.
// A [State] is never changed after Step returned it; calls may be concurrent.
package netjudge
