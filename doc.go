// Package hemera is the vocabulary of the Hemera storage system: the identifiers, records and
// limits every other package speaks in, and the service interfaces that the layers meet at.
//
// A manager holds the namespace and places files; storage nodes hold the bytes. A file is cut by
// its layout into pieces, one per disk. A write is pending until every piece is sealed and the
// head node's Commit is durable at the manager; only then is the file visible, whole.
//
// The interfaces, by who implements them:
//
//   - a manager: [Names], [Directories], [Attributes], [Files] for doors, [Control] for nodes, and those of admins;
//   - a node: [Node], whose handles are a [File] for a client and a [PieceHandle] for another node.
//
// What crosses a process is a value here too, with its text or binary form beside it or in a package of rules/. A
// [Capability] is the decision of a manager about one file; a [Permit] is a capability that its holder can rely on.
//
// The package imports the standard library only, does no I/O and keeps no state. The words are
// defined in docs/GLOSSARY.md; who may import whom is held by internal/lint.
package hemera
