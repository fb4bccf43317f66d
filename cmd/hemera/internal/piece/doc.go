// Package piece has the commands of hemera piece: single piece files, without a manager and without a node.
//
// They are for the day on which nothing else of a cluster is left. They read the files they are given and change none of
// them; join writes one new file, which gets its name when it is complete. The work is done by package client/pieces.
//
// An admin has the files of one broken machine, or of a cluster whose manager is gone, and needs to know three things: what
// a file is (show), whether it is good (verify), and what was in it (join). hemera ns rebuild does the same for a whole
// cluster.
//
// Paths of piece files are those of this machine. Completion is the shell's own.
package piece
