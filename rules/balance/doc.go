// Package balance decides which disks of a space are too full and how many bytes each gives or takes, and compares how
// well two sets of disks spread a file over nodes and zones.
//
// # Filling
//
// Disks that are folders of one filesystem are one [Volume]: a move between them frees no room. [Step] compares each
// volume with the mean of its space, the share of all their bytes that is used. If one is further from the mean than the
// threshold, the space is balanced: volumes above the mean give, and those below it take, the difference. Moves continue
// until all volumes are within half of the threshold. So a space at the edge of the threshold does not start and stop for
// ever, and writes of clients do not start a new balancing at once.
//
// A volume gives at most the bytes of its pieces: other data on the filesystem stays. A disk that cannot remove pieces
// gives none, and one that takes no new pieces takes none. How full the space is as a whole does not matter.
//
// # Spread
//
// A move never makes the spread of a file worse ([Spread.Keeps]). Pieces that share a node or a zone while others are
// free gain by a move ([Spread.Gains]).
//
// The package is pure: no clock, no I/O.
package balance
