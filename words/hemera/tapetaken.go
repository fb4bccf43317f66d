package hemera

// TapeOutcome says what became of a file that a scan found on a tape. The texts are those of the admin API.
type TapeOutcome string

// The outcomes.
const (
	TookKnown   TapeOutcome = "known"   // the catalogue had it already
	TookCopy    TapeOutcome = "copy"    // a file that was there has one copy more
	TookMade    TapeOutcome = "made"    // a new file, at its path
	TookLost    TapeOutcome = "lost"    // a new file in /lost+found/tape: the tape tells no path, or none that it can have
	TookDead    TapeOutcome = "dead"    // no file, but it can be undeleted
	TookDiffers TapeOutcome = "differs" // the catalogue has something else at this place of the tape: nothing was changed
	TookNot     TapeOutcome = "not"     // nothing can be made of what the tape tells: nothing was changed
)

// TapeTaken is one file that a scan found.
type TapeTaken struct {
	Outcome   TapeOutcome
	FSeq      uint64
	Member    uint32 `json:",omitempty"`
	ArchiveID uint64
	Size      int64
	Path      string `json:",omitempty"` // that the tape tells
	Why       string `json:",omitempty"`
}

// TapeAttention is something that needs a person.
type TapeAttention struct {
	Subject, What, Command string
}
