package lint

import "hemera/test/lint/locks"

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
		"hemera/disk.Store":               {"Create", "Open", "Remove", "Scan", "Expire", "RepairPages", "Close"},
		"hemera/disk.Putter":              {"Put"},
		"hemera/disk.Writer":              {"WritePages", "ReadPages", "NextData", "Truncate", "Sync", "Seal", "Abort"},
		"hemera/disk.Cloner":              {"Clone"},
		"hemera/disk.Resumer":             {"Resume"},
		"hemera/disk.Marker":              {"Mark"},
		"hemera/disk.Noter":               {"Note", "Noted"},
		"hemera/disk.Prover":              {"Prove", "Leave"},
		"hemera/disk.Reader":              {"ReadPages", "NextData", "Verify", "Allocated"},
		"hemera/disk.Waiter":              {"Wait"},
		"hemera/transfer/piece.Peers":     {"*"},
		"hemera/transfer/piece.Writer":    {"WritePages", "Truncate", "Clone", "Sync", "Seal", "Abort"},
		"hemera/transfer/piece.Reader":    {"ReadPages", "Close"},
		"hemera/words/hemera.Control":     {"*"},
		"hemera/words/hemera.Node":        {"*"},
		"hemera/words/hemera.File":        {"ReadPages", "WritePages", "Truncate", "Sync", "End"},
		"hemera/words/hemera.PieceHandle": {"Seal", "End"},
		"hemera/words/hemera.Cloner":      {"Clone"},
	}
}
