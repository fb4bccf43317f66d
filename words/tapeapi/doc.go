// Package tapeapi has the words of tape: what a tape server, the manager's part, the doors and the admin API say to each other of tapes, jobs,
// drives and requests for files. Its vocabulary is CTA's where CTA has a word.
//
// [Control] is the interface between a tape server and the manager, [Staging] that between doors and the manager. [Tape], [File] and [Job] are the
// catalogue's objects as all parts know them; how they are stored is the matter of namespace/schema.
//
// What is known of a copy in an entry, and the attributes of files on tape, are in package hemera: every part has entries.
package tapeapi
