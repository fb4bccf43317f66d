package lint

import "hemera/internal/lint/locks"

// waiting returns the interfaces of the tree that stand for a device or a network. Their other methods answer from memory.
func waiting() locks.Waiting {
	return locks.Waiting{
		"hemera/platform/vfs.FS":   {"*"},
		"hemera/platform/vfs.File": {"ReadAt", "WriteAt", "Write", "Truncate", "Sync", "SyncRange", "Allocate", "Punch", "SeekData"},
		"os.File":                  {"Read", "Write", "ReadAt", "WriteAt", "Sync", "Truncate"},
		"net.Conn":                 {"Read", "Write"},
		"net.Dialer":               {"Dial", "DialContext"},

		"hemera/core/disk.Store":  {"Create", "Open", "Remove", "Scan", "Expire", "RepairPages", "Put", "Close"},
		"hemera/core/disk.Writer": {"WritePages", "ReadPages", "NextData", "Truncate", "Sync", "Seal", "Abort"},
		"hemera/core/disk.Reader": {"ReadPages", "NextData", "Verify", "Allocated"},

		"hemera/core/transfer.Peers":      {"*"},
		"hemera/core/transfer.PeerWriter": {"WritePages", "ReadPages", "Truncate", "Sync", "Seal", "Abort"},
		"hemera/core/transfer.PeerReader": {"ReadPages", "Close"},

		"hemera/platform/kv.Reader": {"Get", "GetMany", "Scan"},
		"hemera/platform/kv.Writer": {"Wait"},

		"hemera.Control": {"*"},
		"hemera.Node":    {"*"},
		"hemera.File":    {"ReadAt", "WriteAt", "ReadPages", "WritePages", "Truncate", "Sync", "Close"},
	}
}
