package mounting

// Rule is a rule that keeps a queue from a drive.
type Rule string

// The rules, in the order in which they are looked at. Those up to Media are about a queue and a drive, the others about the queue alone.
const (
	NoRule          Rule = ""                // nothing keeps it
	TapeUnknown     Rule = "unknown tape"    // the catalogue has no such tape
	TapeState       Rule = "tape state"      // its state does not permit reading
	KeyMissing      Rule = "encryption key"  // the key of the tape, or of new tapes of the pool, cannot be used
	LibraryDisabled Rule = "library"         // an admin disabled it
	OtherLibrary    Rule = "other library"   // the tape is in another library than the drive
	Media           Rule = "media type"      // the drive does not take the media type
	TapeInUse       Rule = "tape in use"     // another drive holds the tape
	PartialTapes    Rule = "partial tapes"   // the pool has as many partly full tapes as it may have, and all are in use
	NoTape          Rule = "no tape"         // the pool and its supplies have no tape that can be written
	DriveLimit      Rule = "organisation"    // the organisation has as many drives as it may have
	BufferFull      Rule = "buffer"          // there is no room for recalled files
	TooLittle       Rule = "mount criteria"  // bytes, files and age do not make a mount worth it
	DriveDown       Rule = "drive down"      // the drive is not to be used, or cannot
	DriveBusy       Rule = "drive busy"      // it works for another queue
	Queued          Rule = "queues ahead"    // it could begin, and others go first
	Working         Rule = "working"         // it works on the queue
	NoWork          Rule = "no work"         // nothing waits
	Mounted         Rule = "mounted already" // the tape is in the drive
	EnoughBytes     Rule = "bytes"           // why a mount is worth it
	EnoughFiles     Rule = "files"
	OldEnough       Rule = "age"
	Lingering       Rule = "linger"   // the tape stays for a while
	LingerOver      Rule = "lingered" // and has stayed long enough
	TurnOver        Rule = "turn"     // others of the same priority or a higher one wait
)
