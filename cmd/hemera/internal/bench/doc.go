// Package bench has the commands of `hemera bench`: what the machines, the network, the namespace and the cluster reach.
//
// Each level is a package below measure; here are its flags and its place in a run. A session runs levels one after
// another, shows how far they are, and keeps the directory of the run: result.json is written after every level, so that an
// interrupted run leaves what it has.
//
// # A run
//
//  1. The levels check their flags. Nothing is made before all of them are content.
//  2. The session makes the directory. It refuses one that has a result.
//  3. Each level measures into a Recorder of its own. A level that fails ends with a note, and the next one begins.
//  4. After each level the session writes result.json, whole or not at all.
//  5. Package report makes report.html and the plots.
//  6. The table of all measures is printed, with what was skipped and why.
//
// # Interruptions
//
// Ctrl-C ends the context of the level that works. The level removes what it made, and returns; the session keeps its
// samples, sets Run.Stopped and begins no further level. A second Ctrl-C ends the process at once.
//
// # Goroutines
//
// The command's goroutine runs the levels. A level may have others, which use its Recorder. One more goroutine draws the
// progress line; the line is all that it shares with them.
//
// # A new level
//
// A type with the methods of level, its command in Command, and its place in allLevels. The report needs no code for it: the
// level says by result.Figure what is drawn.
package bench
