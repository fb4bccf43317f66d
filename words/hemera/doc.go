// Package hemera is the vocabulary of the system: the types that every part uses, and the interfaces at which doors,
// services and transports meet. It depends on the standard library alone, and nothing here does I/O.
//
// A manager holds the namespace and places files; storage nodes hold the bytes. A file is cut by its layout into pieces, one
// per disk. A write is pending until every piece is sealed and the head node's Commit is durable at the manager; only then
// is the file visible, whole. The words are defined in docs/GLOSSARY.md; test/lint holds who may import whom.
//
// # What is where
//
//   - ids.go, entry.go, name.go, identity.go: files and directories, their names, and who asks for them;
//   - layout.go, checksum.go, limits.go: how content is stored, and the bounds of everything;
//   - cluster.go, network.go, latency.go: nodes, disks and spaces in a [View], and what they measure;
//   - grant.go, permit.go: what an open is granted. A [Capability] says what is permitted; a [Permit] is a capability in
//     the hands of a process, and travels as its signed token;
//   - manager.go: what a manager offers to doors ([Names], [Directories], [Attributes], [Files]) and to nodes ([Control]);
//   - node.go: what a node offers to doors and to other nodes ([Node], [File], [PieceHandle]);
//   - quota.go, form.go, writes.go, tape.go: limits, wanted layouts, writes under way, copies on tape.
//
// Words of the admin API are in package adminapi, those of tapes in package tapeapi.
//
// # Contracts
//
// A service returns *errs.Error. Unless a method says otherwise, nil means that the change is durable, and a failure of any
// kind but Timeout and Unavailable that nothing changed. Methods may be called concurrently. Paths are absolute and clean.
//
// Types that travel between processes keep the names of their fields: fields are only added, and a reader skips those that
// it does not know. Numbers that are stored (kinds of checksums, layouts, orders, events) are never given another meaning.
package hemera
