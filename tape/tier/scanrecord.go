package tier

import (
	"encoding/json"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// scanRecord is a scan as it is stored, in JSON.
type scanRecord struct {
	Scan      scanStateRecord
	Order     scanOrderRecord
	Who       string
	Cancelled bool `json:",omitempty"`
}

// scanStateRecord is the progress of the scan, and the outcomes of the files that it found.
type scanStateRecord struct {
	VID     hemera.VID
	DryRun  bool
	Asked   time.Time
	Begun   time.Time `json:",omitzero"`
	Ended   time.Time `json:",omitzero"`
	Drive   string
	FSeq    uint64
	Files   int64
	Bytes   int64
	Counts  map[tapeapi.Outcome]int64
	Found   []takenRecord
	Why     string
	Problem string
}

// takenRecord is one file that a scan found.
type takenRecord struct {
	Outcome   tapeapi.Outcome
	FSeq      uint64
	Member    uint32 `json:",omitempty"`
	ArchiveID uint64
	Size      int64
	Path      string `json:",omitempty"`
	Why       string `json:",omitempty"`
}

// scanOrderRecord is the order that the scan follows from.
type scanOrderRecord struct {
	Kind    adminapi.TapeOrderKind
	Subject string
	Force   bool
	Only    bool
	DryRun  bool
	To      string
	Data    bool
	After   uint64 `json:",omitempty"`
	Lose    int64  `json:",omitempty"`
	Tape    bool   `json:",omitempty"`
}

// record returns the record of a scan.
func (s *scan) record() ([]byte, error) {
	state := scanStateRecord{s.VID, s.DryRun, s.Asked, s.Begun, s.Ended, s.Drive, s.FSeq, s.Files, s.Bytes, s.Counts, nil, s.Why, s.Problem}
	// A list without findings is stored as it is: as null or as [].
	if s.Found != nil {
		state.Found = make([]takenRecord, len(s.Found))
		for i, t := range s.Found {
			state.Found[i] = takenRecord(t)
		}
	}
	return json.Marshal(scanRecord{state, scanOrderRecord(s.order), s.who, s.cancelled})
}

// readScan returns the scan of a record. Corrupt if it cannot be read.
func readScan(raw []byte) (*scan, error) {
	var r scanRecord
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, errs.As(err, errs.Corrupt, "tier.Open", "the record of a scan")
	}
	s := &scan{order: adminapi.TapeOrder(r.Order), who: r.Who, cancelled: r.Cancelled}
	s.TapeScan = adminapi.TapeScan{VID: r.Scan.VID, DryRun: r.Scan.DryRun, Asked: r.Scan.Asked, Begun: r.Scan.Begun, Ended: r.Scan.Ended, Drive: r.Scan.Drive,
		FSeq: r.Scan.FSeq, Files: r.Scan.Files, Bytes: r.Scan.Bytes, Counts: r.Scan.Counts, Why: r.Scan.Why, Problem: r.Scan.Problem}
	if r.Scan.Found != nil {
		s.Found = make([]tapeapi.Taken, len(r.Scan.Found))
		for i, t := range r.Scan.Found {
			s.Found[i] = tapeapi.Taken(t)
		}
	}
	return s, nil
}
