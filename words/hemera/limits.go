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
	// CapabilityLifetime is the time after its signature in which a capability opens a file.
	CapabilityLifetime = time.Hour
	// CommitLifetime is the time after that in which a write may still be committed: as long as keys are kept.
	CommitLifetime = 72 * time.Hour
	// HeartbeatInterval is the interval of a node's reports; HeartbeatTimeout is the silence after which its disks leave
	// placement and its lease is over.
	HeartbeatInterval = time.Second
	HeartbeatTimeout  = 5 * time.Second
	// PendingHold is the time for which a node keeps an unfinished write whose client went away.
	PendingHold = 2 * time.Minute
	// KeptLifetime is the time after that for which it keeps, for a person, a write that is not closed by itself.
	KeptLifetime = time.Hour
	// UnsealedLifetime is the time after its last write for which an unsealed piece is kept on a disk.
	UnsealedLifetime = CapabilityLifetime + PendingHold
)
