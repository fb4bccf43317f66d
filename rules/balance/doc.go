// Package balance decides which disks of a space are too full and how much each gives or takes, and compares how well two
// sets of disks spread a file over nodes and zones.
//
// # Filling
//
// Disks that are folders of one filesystem are one [Volume]: what leaves one of them makes no room. [Step] compares each
// volume with the mean of its space, the share of all their bytes that is used. If one is further from the mean than the
// threshold, the space is balanced: volumes above the mean give, and those below it take, what they differ by. That goes on
// until all are within half of the threshold, so that a space at the edge does not start and stop for ever, and what
// clients write meanwhile starts nothing.
//
// A volume gives no more than it has of pieces: data of others on the filesystem stays. A disk that cannot remove pieces
// gives none, and one that takes no new pieces takes none. How full the space is as a whole does not matter.
//
// # Spread
//
// A move never makes the spread of a file worse ([Spread.Keeps]). Pieces that share a node or a zone while others are
// free gain by a move ([Spread.Gains]).
//
// The package is pure: no clock, no I/O.
package balance
