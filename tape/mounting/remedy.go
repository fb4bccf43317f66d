package mounting

import (
	"cmp"
	"fmt"
)

// remedy says what an admin can do about a rule, "" if it is enough to wait. e may be nil for rules that are about drives alone.
func (b *Board) remedy(e *entry, d *Drive, kept Rule) string {
	// Commands as they are typed, so that they can be copied.
	switch kept {
	case LibraryDisabled:
		return remedyOfLibrary(d.Library)
	case DriveDown:
		return cmp.Or(d.Remedy, "hemera tape drive up "+d.Name)
	case TapeUnknown:
		return "scan it into the catalogue: hemera tape scan " + string(e.VID)
	case TapeState:
		return remedyOfTape(e.tape)
	case KeyMissing:
		l := b.stock.pools[e.Pool].Lock
		if !e.Writes() {
			l = e.tape.Lock
		}
		return "bring it back: hemera tape key add " + l.Key + " --from FILE"
	case OtherLibrary, Media:
		return "" // another drive does it; if none can, the first reason is this one and says which media
	case NoTape:
		return "add tapes to the pool or to one of its supply pools: hemera tape tape add VID tapepool=" + string(e.Pool)
	case PartialTapes:
		return fmt.Sprintf("to write more at a time: hemera tape pool set %s numPartialTapes=%d", e.Pool, max(1, b.stock.pools[e.Pool].Partial)+1)
	case DriveLimit:
		key, n := "readMaxDrives", e.load.limits.ReadDrives+1
		if e.Writes() {
			key, n = "writeMaxDrives", e.load.limits.WriteDrives+1
		}
		return fmt.Sprintf("to use more drives: hemera tape organisation set %s %s=%d", e.Organisation, key, n)
	case BufferFull:
		return "evict files that are on tape, or add disks: hemera tape evict PATH"
	}
	return ""
}

// remedyOfTape says how a tape is used again.
func remedyOfTape(t *tape) string {
	return "hemera tape tape set " + string(t.VID) + " state=ACTIVE"
}

// remedyOfLibrary says how a library is used again.
func remedyOfLibrary(library string) string {
	return "hemera tape library up " + library
}
