// Package hemera is the vocabulary of the Hemera storage system: the identifiers, records and
// limits every other package speaks in, and the service interfaces that the layers meet at.
//
// A manager holds the namespace and places files; storage nodes hold the bytes. A file is cut by
// its layout into pieces, one per disk. A write is pending until every piece is sealed and the
// head node's Commit is durable at the manager; only then is the file visible, whole.
//
// The package imports the standard library only, does no I/O and keeps no state. The words are
// defined in docs/GLOSSARY.md; who may import whom is held by internal/lint.
package hemera
