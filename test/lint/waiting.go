package lint

import "hemera/test/lint/locks"

// waiting returns the methods that wait: for a device, a network, a robot, or a turn that others hold. Other methods of these types
// answer from memory. A method stands under the interface that declares it, not under one that embeds it.
func waiting() locks.Waiting {
	return locks.Waiting{
		// Files and networks of the machine.
		"os.File":                    {"Read", "Write", "ReadAt", "WriteAt", "Sync", "Truncate"},
		"net.Conn":                   {"Read", "Write"},
		"net.Dialer":                 {"Dial", "DialContext"},
		"hemera/platform/vfs.FS":     {"*"},
		"hemera/platform/vfs.Mover":  {"*"},
		"hemera/platform/vfs.File":   {"ReadAt", "WriteAt", "Truncate", "Sync"},
		"hemera/platform/vfs.Hinter": {"*"},
		"hemera/platform/vfs.Sparse": {"*"},
		"hemera/platform/vfs.Cloner": {"*"},

		// The ordered store. Enqueue does not wait for the device, but it waits while the engine is behind with its tables.
		"hemera/platform/kv.Reader":            {"Get", "GetMany", "Scan"},
		"hemera/platform/kv.Ticket":            {"Wait"},
		"hemera/platform/kv.Store":             {"Acquire", "Snapshot", "Backup", "Close"},
		"hemera/platform/kv.Snapshot":          {"Close"},
		"hemera/platform/kv.Writer":            {"Enqueue", "LastSeq"},
		"hemera/platform/kv.Loader":            {"Load"},
		"hemera/platform/kv.Load":              {"*"},
		"hemera/platform/kv.Run":               {"*"},
		"hemera/platform/kv/checkpoint.Source": {"*"},
		"hemera/platform/kv/checkpoint.Store":  {"Backup"},

		// The replicated journal, behind a network.
		"hemera/platform/kv/journal.Journal": {"*"},
		"go.etcd.io/etcd/client/v3.Txn":      {"Commit"},

		// Disks and pieces.
		"hemera/disk.Store":            {"Create", "Open", "Remove", "Scan", "Expire", "RepairPages", "Close"},
		"hemera/disk.Putter":           {"Put"},
		"hemera/disk.Writer":           {"WritePages", "ReadPages", "NextData", "Truncate", "Sync", "Seal", "Abort"},
		"hemera/disk.Cloner":           {"Clone"},
		"hemera/disk.Resumer":          {"Resume"},
		"hemera/disk.Marker":           {"Mark"},
		"hemera/disk.Noter":            {"Note", "Noted"},
		"hemera/disk.Prover":           {"Prove", "Leave"},
		"hemera/disk.Reader":           {"ReadPages", "NextData", "Verify", "Allocated"},
		"hemera/disk.Waiter":           {"Wait"},
		"hemera/transfer/piece.Peers":  {"*"},
		"hemera/transfer/piece.Writer": {"WritePages", "Truncate", "Clone", "Sync", "Seal", "Abort"},
		"hemera/transfer/piece.Reader": {"ReadPages", "Close"},
		"hemera/transfer.Committer":    {"*"},
		"hemera/transfer.KeptStore":    {"*"},

		// Services, which may be behind a network.
		"hemera/words/hemera.Control":     {"*"},
		"hemera/words/tapeapi.Control":    {"*"},
		"hemera/words/hemera.Node":        {"*"},
		"hemera/words/hemera.Handle":      {"ReadPages", "WritePages", "Truncate", "Sync"},
		"hemera/words/hemera.File":        {"End"},
		"hemera/words/hemera.PieceHandle": {"Seal", "End"},
		"hemera/words/hemera.Offerer":     {"*"},
		"hemera/words/hemera.Cloner":      {"Clone"},
		"hemera/words/hemera.Sparse":      {"*"},
		"hemera/words/hemera.Lender":      {"*"},
		"hemera/words/hemera.Prover":      {"*"},

		// Tape: a command takes up to minutes.
		"hemera/tape/device.Changer":    {"Inventory", "Move"},
		"hemera/tape/device.Drive":      {"Status", "Load", "Unload"},
		"hemera/tape/device.Positioner": {"*"},
		"hemera/tape/device.Blocks":     {"*"},
		"hemera/tape/device.Protector":  {"Protect"},
		"hemera/tape/device.Encrypter":  {"*"},
		"hemera/tape/device.Orderer":    {"*"},
		"hemera/tape/device.Monitor":    {"*"},
		"hemera/tape/session.Jobs":      {"*"},
		"hemera/tape/session.Source":    {"*"},
		"hemera/tape/session.Content":   {"*"},
		"hemera/tape/session.Sink":      {"*"},
		"hemera/tape/session.Target":    {"*"},
		"hemera/tape/session.Journal":   {"*"},
		"hemera/tape/server.Files":      {"*"},
		"hemera/tape/tier.Granter":      {"*"},

		// Turns of others: the holder may wait for any of the above.
		"hemera/platform/turn.Turn":            {"Acquire", "Wait"},
		"hemera/platform/turn.Shared":          {"Wait", "WaitShare"},
		"hemera/platform/fairshare.Limiter":    {"Acquire"},
		"golang.org/x/sync/semaphore.Weighted": {"Acquire"},
	}
}
