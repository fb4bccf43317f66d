package schema

import (
	"encoding/binary"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Tables of tapes. A tape copy itself is a part of its file's entry; what is here follows from entries (the lists of tapes), or is under way (jobs).
const (
	TableTape     = 'c' // VID → tape
	TableTapeFile = 'f' // VID, fSeq, member → tape file, of a content or of one that was removed
	TableJob      = 'j' // file, kind, copy → job
	TableJobOrder = 'p' // kind, queue, user, from when, file, copy → nothing: the jobs of a queue in their order
	TableQueue    = 's' // kind, queue, user, mount policy → number of jobs and their bytes
	TableStage    = 'y' // request, part → what was asked for
	TableScan     = 'n' // VID → scan of a tape, as the tape tier knows it
	TableMount    = 'M' // mount → the mount that a drive was given last
	TableFound    = 'z' // kind, number on a scanned tape → the file that was made of it
)

// MetaTapes is the letter of the configuration of tapes in [TableMeta].
const MetaTapes = 't'

// VIDMax is the length of a VID in keys; shorter ones are padded with zeros. A longer one is cut, so callers refuse it.
const VIDMax = 6

// Lengths of keys.
const (
	TapeKeyBytes     = 2 + VIDMax
	TapeFileKeyBytes = TapeKeyBytes + 12
	JobKeyBytes      = IDKeyBytes + 2
)

// What the number in [TableFound] is.
const (
	FoundFile    = 'f' // a file's id in the system that wrote the tape
	FoundArchive = 'a' // an archive id, where only labels tell of the file
)

// FoundKey returns the key of what a scan has made of a number; kind is [FoundFile] or [FoundArchive].
func FoundKey(kind byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(TableKey(TableFound), kind), number)
}

// EncodeFound returns the record of the file that was made.
func EncodeFound(id hemera.FileID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

// DecodeFound reads what [EncodeFound] wrote.
func DecodeFound(_, raw []byte) (*hemera.FileID, error) {
	if len(raw) != 8 {
		return nil, ErrRecord
	}
	id := hemera.FileID(Uint64At(raw, 0))
	return &id, nil
}

// FailedJobs is added to the kind of jobs that are not tried again: they are in an order of their own.
const FailedJobs = 0x80

// TapeKey returns the key of a tape, or with [TableTapeFile] the prefix of its files.
func TapeKey(table byte, vid hemera.VID) []byte {
	var padded [VIDMax]byte
	copy(padded[:], vid)
	return append(TableKey(table), padded[:]...)
}

// TapeFileKey returns the key of a file on a tape.
func TapeFileKey(vid hemera.VID, fseq uint64, member uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(TapeKey(TableTapeFile, vid), fseq), member)
}

// JobKey returns the key of a job.
func JobKey(k tapeapi.JobKey) []byte {
	return append(IDKey(TableJob, k.File), byte(k.Kind), k.Copy)
}

// QueueKey returns the prefix of the keys of a queue in [TableJobOrder] and [TableQueue]. Kind may have [FailedJobs] added.
func QueueKey(table byte, kind uint8, name string) []byte {
	return append(append(TableKey(table), kind, byte(len(name))), name...)
}

// UserQueueKey returns the prefix of a user's jobs or sums in a queue. In [TableQueue] it is also the key of the jobs without a mount policy.
func UserQueueKey(table byte, kind uint8, name string, uid uint32) []byte {
	return binary.BigEndian.AppendUint32(QueueKey(table, kind, name), uid)
}

// jobPrefix returns the prefix of a job's user in its queue. Jobs that failed for good are in a queue of their own.
func jobPrefix(table byte, j *tapeapi.Job) []byte {
	kind := uint8(j.Kind)
	if j.Failed {
		kind += FailedJobs
	}
	return UserQueueKey(table, kind, j.Queue, j.UID)
}

// SumKey returns the key of the sum in which a job counts.
func SumKey(j *tapeapi.Job) []byte { return append(jobPrefix(TableQueue, j), j.Policy...) }

// OrderKey returns the key of a job in the order of its queue: by the time from when it may be done.
func OrderKey(j *tapeapi.Job) []byte {
	from := j.Asked
	if j.After.After(from) {
		from = j.After
	}
	k := OrderFrom(jobPrefix(TableJobOrder, j), from)
	return append(binary.BigEndian.AppendUint64(k, uint64(j.File)), j.Copy)
}

// OrderFrom appends a time to the prefix of a user's jobs: where those begin that may be done from then on.
func OrderFrom(k []byte, from time.Time) []byte {
	return binary.BigEndian.AppendUint64(k, uint64(max(0, from.UnixNano())))
}

// Order has the fields of the key of a job in its queue.
type Order struct {
	Job  tapeapi.JobKey
	Name string // of the queue
	UID  uint32
	From time.Time
}

// OrderOf reads a key that [OrderKey] made.
func OrderOf(k []byte) (o Order, err error) {
	if len(k) < 4 || len(k) != 4+int(k[3])+4+8+9 {
		return o, ErrRecord
	}
	rest := k[4+int(k[3]):]
	o.Job.Kind, o.Name, o.UID = tapeapi.JobKind(k[2]&^FailedJobs), string(k[4:4+int(k[3])]), binary.BigEndian.Uint32(rest)
	o.From = time.Unix(0, int64(Uint64At(rest, 4))).UTC()
	o.Job.File, o.Job.Copy = hemera.FileID(Uint64At(rest, 12)), rest[20]
	return o, nil
}

// QueueSum counts the jobs of a user with one mount policy in a queue.
type QueueSum struct{ Files, Bytes int64 }

// AppendQueueSum appends the record of a sum.
func AppendQueueSum(b []byte, q *QueueSum) []byte {
	return AppendPair(b, uint64(q.Files), uint64(q.Bytes))
}

// DecodeQueueSum reads what [AppendQueueSum] wrote.
func DecodeQueueSum(_, raw []byte) (*QueueSum, error) {
	if len(raw) != PairBytes {
		return nil, ErrRecord
	}
	return &QueueSum{int64(Uint64At(raw, 0)), int64(Uint64At(raw, 8))}, nil
}

// Queue has the fields of the key of a sum.
type Queue struct {
	Kind   uint8 // with [FailedJobs] added for those
	Name   string
	UID    uint32
	Policy string // mount policy of the jobs, "" for jobs without one
}

// QueueOf reads a key of [TableQueue]. The policy is its rest; keys of before policies end with the user.
func QueueOf(k []byte) (q Queue, err error) {
	if len(k) < 4 || len(k) < 4+int(k[3])+4 {
		return q, ErrRecord
	}
	user := 4 + int(k[3])
	return Queue{k[2], string(k[4:user]), binary.BigEndian.Uint32(k[user:]), string(k[user+4:])}, nil
}

// appendCopies appends the tape copies of an entry, which has some.
func appendCopies(b []byte, copies []hemera.TapeCopy) []byte {
	b = binary.AppendUvarint(b, uint64(len(copies)))
	for _, c := range copies {
		b = appendText(append(b, c.Number), string(c.VID))
		b = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(b, c.FSeq), c.Block), uint64(c.Member))
	}
	return b
}

// copies reads what appendCopies wrote; an entry with none has no such field.
func (d *decoder) copies() []hemera.TapeCopy {
	n := d.count(5)
	if n == 0 || n > hemera.TapeCopiesMax {
		d.bad = true
		return nil
	}
	out := make([]hemera.TapeCopy, 0, n)
	for range n {
		out = append(out, hemera.TapeCopy{Number: d.byte(), VID: hemera.VID(d.text()), FSeq: d.uint(), Block: d.uint(), Member: d.uint32()})
	}
	return out
}
