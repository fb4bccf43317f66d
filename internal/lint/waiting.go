package lint

import "hemera/internal/lint/locks"

// waiting returns the interfaces of the tree that stand for a device or a network. Their other methods answer from memory.
func waiting() locks.Waiting {
	return locks.Waiting{
		"hemera/platform/vfs.FS":          {"*"},
		"hemera/platform/vfs.File":        {"ReadAt", "WriteAt", "Truncate", "Sync"},
		"hemera/platform/vfs.Hinter":      {"*"},
		"hemera/platform/vfs.Sparse":      {"*"},
		"hemera/platform/vfs.Cloner":      {"*"},
		"os.File":                         {"Read", "Write", "ReadAt", "WriteAt", "Sync", "Truncate"},
		"net.Conn":                        {"Read", "Write"},
		"net.Dialer":                      {"Dial", "DialContext"},
		"hemera/platform/kv.Reader":       {"Get", "GetMany", "Scan"},
		"hemera/platform/kv.Ticket":       {"Wait"},
		"hemera/core/disk.Store":          {"Create", "Open", "Remove", "Scan", "Expire", "RepairPages", "Close"},
		"hemera/core/disk.Putter":         {"Put"},
		"hemera/core/disk.Writer":         {"WritePages", "ReadPages", "NextData", "Truncate", "Sync", "Seal", "Abort"},
		"hemera/core/disk.Cloner":         {"Clone"},
		"hemera/core/disk.Resumer":        {"Resume"},
		"hemera/core/disk.Marker":         {"Mark"},
		"hemera/core/disk.Noter":          {"Note", "Noted"},
		"hemera/core/disk.Prover":         {"Prove", "Leave"},
		"hemera/core/disk.Reader":         {"ReadPages", "NextData", "Verify", "Allocated"},
		"hemera/core/disk.Waiter":         {"Wait"},
		"hemera/core/transfer.Peers":      {"*"},
		"hemera/core/transfer.PeerWriter": {"WritePages", "Truncate", "Clone", "Sync", "Seal", "Abort"},
		"hemera/core/transfer.PeerReader": {"ReadPages", "Close"},
		"hemera.Control":                  {"*"},
		"hemera.Node":                     {"*"},
		"hemera.File":                     {"ReadPages", "WritePages", "Truncate", "Sync", "End"},
		"hemera.PieceHandle":              {"Seal", "End"},
		"hemera.Cloner":                   {"Clone"},
	}
}
