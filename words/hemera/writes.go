package hemera

import "time"

// WriteInfo is one write under way.
type WriteInfo struct {
	ID        string
	Path      string // as it was at the open
	File      FileID
	Gen       Generation // that it makes, as its head says; 0 if its client has it open
	Who       Identity
	Since     time.Time
	Expires   time.Time // when the lock goes at the latest
	Head      NodeID
	HeadAddr  string
	Announced int64 // bytes, 0: not announced
	State     WriteStatus
	// Written and Idle are as the head reported them; valid unless Reported is zero.
	Written  int64
	Idle     time.Duration
	Reported time.Time
	// Gone is since when no client has it open at its head; zero if one has, or if that is not known. Then is what the head does by
	// itself at the time At if no client comes back; empty with Gone.
	Gone time.Time
	Then WriteFate
	At   time.Time
	// Refused is the reason for which its last commit was refused, with the remedy.
	Refused string `cbor:",omitempty" json:",omitempty"`
	// Found says that its node was killed after a sync, and found it when it was started again: it has what was synced, but pages that
	// its client wrote over after that are as they are. Differ is how many; known after its commit was asked for.
	Found  bool  `cbor:",omitempty" json:",omitempty"`
	Differ int64 `cbor:",omitempty" json:",omitempty"`
}

// WriteFate is the end of a write whose client is gone, if no person decides.
type WriteFate string

// The fates.
const (
	ThenCommit WriteFate = "commit" // it was synced, or has every byte that was announced
	ThenRemove WriteFate = "remove"
)

// WriteStatus says how far a write is.
type WriteStatus string

// What is known of writes. The manager asks heads about writes that are a minute old.
const (
	WriteGranted  WriteStatus = "granted"  // its head was not asked yet, or cannot be
	WriteOpen     WriteStatus = "open"     // a client has it open at its head
	WriteDetached WriteStatus = "detached" // its head keeps it for a client that lost its connection
	WriteKept     WriteStatus = "kept"     // its client did not come back: a person may take it, and it holds no lock
)
