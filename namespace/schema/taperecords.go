package schema

import (
	"encoding/json"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Records of tapes, their files and jobs are JSON: few programs read them, fields will be added, and beside the entry of a file they are
// small. Readers skip what they do not know. The structs here are the format: what the API shows may change without them.

// tapeRecord is the record of a tape.
type tapeRecord struct {
	VID           hemera.VID       `json:"vid"`
	MediaType     string           `json:"mediaType"`
	Vendor        string           `json:"vendor"`
	Library       string           `json:"logicalLibrary"`
	Pool          tapeapi.PoolName `json:"tapepool"`
	Capacity      int64            `json:"capacity"`
	Occupancy     int64            `json:"occupancy"`
	LastFSeq      uint64           `json:"lastFseq"`
	LastID        uint64           `json:"lastArchiveId"`
	Files         int64            `json:"nbMasterFiles"`
	Bytes         int64            `json:"masterDataInBytes"`
	Full          bool             `json:"full"`
	State         string           `json:"state"`
	Reason        string           `json:"stateReason"`
	Cause         string           `json:"stateCause,omitempty"`
	Key           string           `json:"encryptionKeyName"`
	Labelled      time.Time        `json:"labelTime,omitzero"`
	Read          time.Time        `json:"lastReadTime,omitzero"`
	Written       time.Time        `json:"lastWrittenTime,omitzero"`
	ReadBy        string           `json:"lastReadDrive"`
	WrittenBy     string           `json:"lastWrittenDrive"`
	LabelBy       string           `json:"labelDrive"`
	Reads         int64            `json:"readMountCount"`
	Writes        int64            `json:"writeMountCount"`
	Verified      time.Time        `json:"verifiedTime,omitzero"`
	Made          time.Time        `json:"creationTime,omitzero"`
	MadeBy        string           `json:"createdBy"`
	Changed       time.Time        `json:"modificationTime,omitzero"`
	ChangedBy     string           `json:"modifiedBy"`
	Comment       string           `json:"comment"`
	Foreign       bool             `json:"foreign,omitempty"`
	Repack        *taskRecord      `json:"repack,omitempty"`
	Verifying     *taskRecord      `json:"verification,omitempty"`
	Life          uint64           `json:"life,omitempty"`
	Doubt         string           `json:"doubt,omitempty"`
	ReclaimedFSeq uint64           `json:"reclaimedFseq,omitempty"`
	ReclaimedID   uint64           `json:"reclaimedArchiveId,omitempty"`
	Inferred      int64            `json:"inferredFiles,omitempty"`
	UnreadFSeq    uint64           `json:"unreadFseq,omitempty"`
	ReturnFSeq    uint64           `json:"returnFseq,omitempty"`
	Returns       uint64           `json:"returns,omitempty"`
	Relabel       *relabelRecord   `json:"relabel,omitempty"`
}

// taskRecord is a task that goes through all files of a tape.
type taskRecord struct {
	By     string       `json:"by"`
	Begun  time.Time    `json:"begun"`
	Files  int64        `json:"totalFiles"`
	Bytes  int64        `json:"totalBytes"`
	Queued uint64       `json:"queuedFseq"`
	Copies bool         `json:"addCopies"`
	Filled bool         `json:"allQueued"`
	Left   []leftRecord `json:"left,omitempty"`
}

// leftRecord counts files that a task leaves.
type leftRecord struct {
	Class  string `json:"storageClass"`
	Copy   uint8  `json:"copyNb"`
	Files  int64  `json:"files"`
	Path   string `json:"firstPath"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
}

// relabelRecord is an order to label a tape.
type relabelRecord struct {
	By    string    `json:"by"`
	Asked time.Time `json:"asked"`
	Force bool      `json:"force,omitempty"`
}

// copyRecord is a place on a tape.
type copyRecord struct {
	Number uint8
	VID    hemera.VID
	FSeq   uint64
	Block  uint64
	Member uint32
}

// tapeFileRecord is a row of a tape's list of files.
type tapeFileRecord struct {
	copyRecord
	ArchiveID uint64
	File      uint64
	Size      int64
	Written   time.Time
	Dead      *deadFileRecord `json:",omitempty"`
	Found     bool            `json:",omitempty"`
}

// deadFileRecord describes a file that was removed or replaced, as it was. Its checksums are texts: the kind's name, a colon, and hexadecimal digits.
type deadFileRecord struct {
	Path     string
	Removed  time.Time
	Why      string
	UID, GID uint32
	Mode     uint32
	Mtime    time.Time
	Class    string
	Sums     []hemera.Checksum `json:",omitempty"`
	Inferred bool              `json:",omitempty"`
}

// jobRecord is work that waits for a tape.
type jobRecord struct {
	File      uint64
	Kind      uint8
	Copy      uint8
	ArchiveID uint64
	Queue     string
	Size      int64
	UID       uint32
	Asked     time.Time
	Activity  string      `json:",omitempty"`
	Policy    string      `json:",omitempty"`
	From      *copyRecord `json:",omitempty"`
	Attempts  int         `json:",omitempty"`
	Error     string      `json:",omitempty"`
	Waits     string      `json:",omitempty"`
	After     time.Time   `json:",omitzero"`
	Failed    bool        `json:",omitempty"`
	Seq       uint64
}

// EncodeTape returns the record of a tape, without what follows from other records. Invalid for a time that JSON cannot hold.
func EncodeTape(t *tapeapi.Tape) ([]byte, error) {
	r := tapeRecord{t.VID, t.MediaType, t.Vendor, t.Library, t.Pool, t.Capacity, t.Occupancy, t.LastFSeq, t.LastID, t.Files, t.Bytes, t.Full,
		string(t.State), t.Reason, string(t.Cause), t.Key, t.Labelled, t.Read, t.Written, t.ReadBy, t.WrittenBy, t.LabelBy, t.Reads, t.Writes,
		t.Verified, t.Made, t.MadeBy, t.Changed, t.ChangedBy, t.Comment, t.Foreign, recordOfTask(t.Repack), recordOfTask(t.Verifying), t.Life, t.Doubt,
		t.ReclaimedFSeq, t.ReclaimedID, t.Inferred, t.UnreadFSeq, t.ReturnFSeq, t.Returns, (*relabelRecord)(t.Relabel)}
	return encodeJSON(&r)
}

// DecodeTape reads what [EncodeTape] wrote.
func DecodeTape(_, raw []byte) (*tapeapi.Tape, error) {
	t, err := decodeJSON[tapeRecord](raw)
	if err != nil {
		return nil, err
	}
	return &tapeapi.Tape{VID: t.VID, MediaType: t.MediaType, Vendor: t.Vendor, Library: t.Library, Pool: t.Pool, Capacity: t.Capacity, Occupancy: t.Occupancy,
		LastFSeq: t.LastFSeq, LastID: t.LastID, Files: t.Files, Bytes: t.Bytes, Full: t.Full, State: tapeapi.State(t.State), Reason: t.Reason,
		Cause: tapeapi.Cause(t.Cause), Key: t.Key, Labelled: t.Labelled, Read: t.Read, Written: t.Written, ReadBy: t.ReadBy, WrittenBy: t.WrittenBy,
		LabelBy: t.LabelBy, Reads: t.Reads, Writes: t.Writes, Verified: t.Verified, Made: t.Made, MadeBy: t.MadeBy, Changed: t.Changed,
		ChangedBy: t.ChangedBy, Comment: t.Comment, Foreign: t.Foreign, Repack: t.Repack.task(), Verifying: t.Verifying.task(), Life: t.Life, Doubt: t.Doubt,
		ReclaimedFSeq: t.ReclaimedFSeq, ReclaimedID: t.ReclaimedID, Inferred: t.Inferred, UnreadFSeq: t.UnreadFSeq, ReturnFSeq: t.ReturnFSeq,
		Returns: t.Returns, Relabel: (*tapeapi.Relabel)(t.Relabel)}, nil
}

// recordOfTask returns the record of a task, nil for none.
func recordOfTask(t *tapeapi.Task) *taskRecord {
	if t == nil {
		return nil
	}
	r := &taskRecord{By: t.By, Begun: t.Begun, Files: t.Files, Bytes: t.Bytes, Queued: t.Queued, Copies: t.Copies, Filled: t.Filled}
	for _, l := range t.Left {
		r.Left = append(r.Left, leftRecord(l))
	}
	return r
}

// task returns the task of a record, nil for none.
func (r *taskRecord) task() *tapeapi.Task {
	if r == nil {
		return nil
	}
	t := &tapeapi.Task{By: r.By, Begun: r.Begun, Files: r.Files, Bytes: r.Bytes, Queued: r.Queued, Copies: r.Copies, Filled: r.Filled}
	for _, l := range r.Left {
		t.Left = append(t.Left, tapeapi.Left(l))
	}
	return t
}

// EncodeTapeFile returns the record of a file on a tape. Invalid for a time that JSON cannot hold, as a tape of another system may tell one.
func EncodeTapeFile(f *tapeapi.File) ([]byte, error) {
	return encodeJSON(&tapeFileRecord{copyRecord(f.TapeCopy), f.ArchiveID, uint64(f.File), f.Size, f.Written, (*deadFileRecord)(f.Dead), f.Found})
}

// DecodeTapeFile reads what [EncodeTapeFile] wrote.
func DecodeTapeFile(_, raw []byte) (*tapeapi.File, error) {
	r, err := decodeJSON[tapeFileRecord](raw)
	if err != nil {
		return nil, err
	}
	return &tapeapi.File{TapeCopy: hemera.TapeCopy(r.copyRecord), ArchiveID: r.ArchiveID, File: hemera.FileID(r.File), Size: r.Size, Written: r.Written,
		Dead: (*tapeapi.DeadFile)(r.Dead), Found: r.Found}, nil
}

// EncodeJob returns the record of a job. Invalid for a time that JSON cannot hold.
func EncodeJob(j *tapeapi.Job) ([]byte, error) {
	return encodeJSON(&jobRecord{uint64(j.File), uint8(j.Kind), j.Copy, j.ArchiveID, j.Queue, j.Size, j.UID, j.Asked, j.Activity, j.Policy,
		(*copyRecord)(j.From), j.Attempts, j.Error, j.Waits, j.After, j.Failed, j.Seq})
}

// DecodeJob reads what [EncodeJob] wrote.
func DecodeJob(_, raw []byte) (*tapeapi.Job, error) {
	r, err := decodeJSON[jobRecord](raw)
	if err != nil {
		return nil, err
	}
	return &tapeapi.Job{JobKey: tapeapi.JobKey{File: hemera.FileID(r.File), Kind: tapeapi.JobKind(r.Kind), Copy: r.Copy}, ArchiveID: r.ArchiveID,
		Queue: r.Queue, Size: r.Size, UID: r.UID, Asked: r.Asked, Activity: r.Activity, Policy: r.Policy, From: (*hemera.TapeCopy)(r.From),
		Attempts: r.Attempts, Error: r.Error, Waits: r.Waits, After: r.After, Failed: r.Failed, Seq: r.Seq}, nil
}

// EncodeStage returns the record of a request to stage files, or of a part of its files.
func EncodeStage(v any) ([]byte, error) { return encodeJSON(v) }

// DecodeStage reads what [EncodeStage] wrote.
func DecodeStage(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return ErrRecord
	}
	return nil
}

// EncodeMount returns the record of a mount.
func EncodeMount(v any) ([]byte, error) { return encodeJSON(v) }

// DecodeMount reads what [EncodeMount] wrote.
func DecodeMount(raw []byte, v any) error { return DecodeStage(raw, v) }

// encodeJSON fails for values that JSON does not have: of the types here these are times before the year 0 or after 9999.
func encodeJSON(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return raw, errs.As(err, errs.Invalid, "schema.Encode", "")
}

func decodeJSON[T any](raw []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, ErrRecord
	}
	return v, nil
}
