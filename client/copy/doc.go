// Package copy copies files and trees between this machine and XRootD servers, in any combination. It is
// what `hemera cp` runs.
//
// # Life of one file
//
// A file of a tree becomes a job. A job looks at the target (state), decides what to do about it (choose), and then
// moves the bytes by one of two ways: directly from server to server (tpc.go), or through this process from a source to
// a target (file.go). A target is written under another name, its part, and gets its final name in one step when its
// content is complete and, where possible, verified. See [Run] for what a failure leaves behind.
//
//	resolve target → stat → choose ─┬─ skip: same size and checksum already
//	                                ├─ third-party copy → publish
//	                                └─ resume? → source.next … target.write → target.commit → publish
//
// # Parts
//
// The part of dir/NAME is dir/.NAME.hemera-part, see partfile.go. There is at most one. A copy with Options.Continue
// goes on with a part if it can prove that the part is the beginning of the source: on a server by the server's checksum
// of it, on this machine by the checksum of all of the file at the end. A part is locked while a copy writes it, so that
// two copies never mix their bytes. Files below Options.PartMin need no part at servers that show no file before its
// close, which Hemera's do.
//
// # Checksums
//
// The Adler-32 of the content runs along with the bytes. It is compared with that of each server that has one, by
// Options.Verify. Adler-32 is what every XRootD server keeps.
//
// # Goroutines
//
// [Run] lists sources in the caller's goroutine, and copies files in Options.Parallel others. A function
// Options.Progress is called in one more. All have ended when Run returns. A cancelled context ends a copy within
// seconds: a remote target may take interruptGrace to leave what it has as a part.
//
// Decisions are pure functions in plan.go. DESIGN.md gives the reasons for parts, names and direct copies.
package copy
