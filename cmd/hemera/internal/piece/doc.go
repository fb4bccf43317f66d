// Package piece has the commands of hemera piece: single piece files, without a manager and without a node.
//
// They are for a cluster that has lost everything but its pieces. They read the given files and do not change them; join
// writes one new file, which gets its name when it is complete. The work is done by package client/pieces.
//
// An admin has the files of one broken machine, or of a cluster whose manager is gone, and asks three questions: which
// piece a file has (show), whether it is good (verify), and the content of the file (join). hemera ns rebuild does the
// same for a whole cluster.
//
// Paths of piece files are those of this machine. Completion is the shell's own.
package piece
