package hemera

import "time"

// Limits of the system. Relations between them are asserted by limits_test.go.
const (
	// PageSize is the unit of page checksums, on disk and in pgread and pgwrite.
	PageSize = 4096
	// NameMax is the longest entry name, in bytes.
	NameMax = 255
	// PathMax is the longest path, in bytes.
	PathMax = 4096
	// DepthMax is the most names in the path of an entry that is made or moved: each change of a directory is
	// written to all directories above it.
	DepthMax = 256
	// ReplicasMax is the most copies a replica layout can have. It is that of coded layouts, as rs:1+31 is 32 copies.
	ReplicasMax = CodedPiecesMax
	// PiecesMax is the most pieces any layout can have.
	PiecesMax = 64
	// FileSizeMax is the largest file, in bytes.
	FileSizeMax = 1 << 50
	// XattrNameMax and XattrValueMax bound one extended attribute, XattrsMax their number per entry. A name
	// counts with its prefix: clients of XRootD leave "user." out and may use 248 bytes.
	XattrNameMax  = 253
	XattrValueMax = 64 << 10
	XattrsMax     = 256
	// XattrsBytesMax bounds names and values of one entry together: they are part of its record.
	XattrsBytesMax = 128 << 10
	// CapabilityLifetime is how long after it was signed a capability opens a file.
	CapabilityLifetime = time.Hour
	// CommitLifetime is how long after that a write may still be committed: as long as keys are kept.
	CommitLifetime = 72 * time.Hour
	// HeartbeatInterval is how often a node reports; HeartbeatTimeout is the silence after which its
	// disks leave placement and its lease is over.
	HeartbeatInterval = time.Second
	HeartbeatTimeout  = 5 * time.Second
	// PendingHold is how long a node keeps an unfinished write whose client went away.
	PendingHold = 2 * time.Minute
	// KeptLifetime is how long after that it keeps for a person what is not closed by itself.
	KeptLifetime = time.Hour
	// UnsealedLifetime is how long after its last write an unsealed piece is kept on a disk.
	UnsealedLifetime = CapabilityLifetime + PendingHold
)
