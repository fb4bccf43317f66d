// Package copy copies files and trees between this machine and XRootD servers, in any combination. `hemera cp` uses it.
//
// # Life of one file
//
// A file of a tree becomes a job. A job looks at the target (state), chooses an action (choose), and then moves the bytes
// in one of two ways: directly from server to server (tpc.go), or through this process from a source to a target
// (file.go). A target is written under another name, its part, and gets its final name in one step when its content is
// complete and, where possible, verified. [Run] documents the state after a failure.
//
//	resolve target → stat → choose ─┬─ skip: same size and checksum already
//	                                ├─ third-party copy → publish
//	                                └─ resume? → source.next … target.write → target.commit → publish
//
// # Parts
//
// The part of dir/NAME is dir/.NAME.hemera-part, see partfile.go. There is at most one. A copy with Options.Continue
// continues a part if it can prove that the part is the beginning of the source: on a server by the server's checksum of
// it, on this machine by the checksum of the whole file at the end. A part is locked while a copy writes it, so that two
// copies never mix their bytes. Files below Options.PartMin need no part at servers that show no file before its close,
// which Hemera's do.
//
// # Checksums
//
// The Adler-32 of the content is computed during the copy. It is compared with that of each server that has one, by
// Options.Verify. Adler-32 is what every XRootD server keeps.
//
// # Goroutines
//
// [Run] lists sources in the caller's goroutine, and copies files in Options.Parallel others. One more calls
// Options.Progress. All have ended when Run returns. A cancelled context ends a copy within seconds: a remote target may
// take interruptGrace to leave its bytes as a part.
//
// Decisions are pure functions in plan.go. DESIGN.md gives the reasons for parts, names and direct copies.
package copy
