package nsload

import (
	"fmt"
	"strconv"
	"time"

	"hemera/namespace/schema"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TapeShape has the state of a tree's files on tape. In the order of their numbers, the files wait to be archived (these
// are on disk only), wait to be recalled, or do neither; all but the first are on tape only, each as a tape file.
type TapeShape struct {
	Class        string           // the storage class of all files
	Pool         tapeapi.PoolName // of all tapes, and of the queues
	FilesPerTape int64            // 0: 100,000
	Archive      int64            // files that wait to be archived
	Recall       int64            // files that wait to be recalled
	Users        int64            // users that requested recalls: as many, from UID 1000 on, in turn; 0: 10
	First        int64            // number of the first tape, different for trees of one store
	Library      string
	Media        string
}

// firstUser is the UID of the first user that requested recalls.
const firstUser = 1000

// wrong returns the fault of the shape, or "", and fills in defaults.
func (s *TapeShape) wrong(files int64) string {
	// A tape of 18 TB has so many files of 180 MB.
	if s.FilesPerTape == 0 {
		s.FilesPerTape = 100_000
	}
	if s.Users == 0 {
		s.Users = 10
	}
	switch {
	case s.Archive < 0 || s.Recall < 0 || s.Archive+s.Recall > files:
		return fmt.Sprintf("of %d files %d cannot wait for tapes", files, s.Archive+s.Recall)
	case s.FilesPerTape < 1 || s.Users < 1 || s.First < 0 || s.First+ceil(files-s.Archive, s.FilesPerTape) > 99_999:
		return "tapes have numbers up to 99,999, files and users"
	case s.Class == "" || s.Pool == "":
		return "files on tape have a storage class, and tapes a pool"
	}
	return ""
}

// pieced returns the number of files on disk, which are the first ones, including files without bytes.
func (s *laidOut) pieced() int64 {
	// Files on tape were evicted.
	if s.Tape != nil {
		return s.Tape.Archive
	}
	return s.Files
}

// onDisk reports whether file i has pieces.
func (s *laidOut) onDisk(i int64) bool { return s.Size > 0 && i < s.pieced() }

// tapes returns the number of tapes of the tree.
func (s *laidOut) tapes() int64 {
	// If all files wait to be archived, no tape has a file.
	if s.Tape == nil || s.Files == s.Tape.Archive {
		return 0
	}
	return ceil(s.Files-s.Tape.Archive, s.Tape.FilesPerTape)
}

// vid returns the name of a tape.
func (s *laidOut) vid(tape int64) string { return fmt.Sprintf("N%05d", s.Tape.First+tape) }

// onTape returns the files of a tape.
func (s *laidOut) onTape(tape int64) (lo, hi int64) {
	lo = s.Tape.Archive + tape*s.Tape.FilesPerTape
	return lo, min(lo+s.Tape.FilesPerTape, s.Files)
}

// id returns the id of file i, which is also its archive id, that of the first content.
func (s *laidOut) id(i int64) hemera.FileID { return s.base + hemera.FileID(s.dirs+i) }

// objectsPerFile is the number of blocks and filemarks of a file of one block on tape.
const objectsPerFile = 9

// copyOf returns the tape copy of file i, which must not wait to be archived.
func (s *laidOut) copyOf(i int64) hemera.TapeCopy {
	at := i - s.Tape.Archive
	n := at % s.Tape.FilesPerTape
	return hemera.TapeCopy{Number: 1, VID: hemera.VID(s.vid(at / s.Tape.FilesPerTape)), FSeq: uint64(n + 1), Block: uint64(n * objectsPerFile)}
}

// archived adds the tape attributes and copies to a file.
func (s *laidOut) archived(i int64, e *hemera.Entry) {
	e.Xattrs = map[string][]byte{
		hemera.AttrArchiveID:    strconv.AppendUint(nil, uint64(e.ID), 10),
		hemera.AttrStorageClass: []byte(s.Tape.Class),
	}
	if i < s.Tape.Archive {
		return
	}
	// One copy: the class of a new system requires no more.
	e.Tape = append(e.Tape, s.copyOf(i))
	if i < s.Tape.Archive+s.Tape.Recall {
		e.Xattrs[hemera.AttrRecallTime] = strconv.AppendInt(nil, s.now.Unix(), 10)
	}
}

// Each of the put methods makes one table of tapes, in the order of its keys.

// job returns the job of file i, one of those that wait. Jobs of a queue are in the order of their files.
func (s *laidOut) job(i int64) tapeapi.Job {
	j := tapeapi.Job{JobKey: tapeapi.JobKey{File: s.id(i), Kind: tapeapi.Archive, Copy: 1}, ArchiveID: uint64(s.id(i)),
		Queue: string(s.Tape.Pool), Size: s.size(i), UID: s.UID, Asked: s.now.Add(time.Duration(i) * time.Microsecond)}
	// Files that wait to be archived come first.
	if i >= s.Tape.Archive {
		from := s.copyOf(i)
		j.Kind, j.Queue, j.From, j.UID = tapeapi.Recall, string(from.VID), &from, s.askedBy(i)
	}
	return j
}

// askedBy returns the user that requested a recall.
func (s *laidOut) askedBy(i int64) uint32 { return firstUser + uint32(i%s.Tape.Users) }

// tapeParts divides the tables of tapes into ranges.
func (s *laidOut) tapeParts(cut func(lo, hi int64, make func(func(k, v []byte) error, int64, int64) error)) {
	// Most trees are only on disk.
	if s.Tape == nil {
		return
	}
	waits := s.Tape.Archive + s.Tape.Recall
	cut(s.Tape.Archive, s.Files, s.putTapeFiles)
	cut(0, s.tapes(), s.putTapes)
	// Jobs are keyed by file, so archives and recalls are one range; their orders are by queue.
	cut(0, waits, s.putJobs)
	cut(0, s.Tape.Archive, s.putArchives)
	if s.Tape.Recall > 0 {
		cut(0, 1, s.putRecalls) // not divided, because its order is by tape and user
	}
	if waits > 0 {
		cut(0, 1, s.putQueues)
	}
}

// tapeRecords returns the number of records of the tape tables.
func (s *laidOut) tapeRecords() int64 {
	// Sums of queues are too few to count.
	if s.Tape == nil {
		return 0
	}
	return s.Files - s.Tape.Archive + s.tapes() + 2*(s.Tape.Archive+s.Tape.Recall)
}

// putRecord encodes a value and puts it.
func putRecord[T any](put func(k, v []byte) error, k []byte, encode func(*T) ([]byte, error), v *T) error {
	raw, err := encode(v)
	if err != nil {
		return err
	}
	return put(k, raw)
}

// putTapeFiles makes the rows of tapes for a range of files.
func (s *laidOut) putTapeFiles(put func(k, v []byte) error, lo, hi int64) error {
	// The order of files is that of VIDs and fSeq.
	for i := lo; i < hi; i++ {
		f := tapeapi.File{TapeCopy: s.copyOf(i), ArchiveID: uint64(s.id(i)), File: s.id(i), Size: s.size(i), Written: s.now}
		if err := putRecord(put, schema.TapeFileKey(f.VID, f.FSeq, f.Member), schema.EncodeTapeFile, &f); err != nil {
			return err
		}
	}
	return nil
}

// putTapes makes the tapes of a range. All but the last of the tree are full.
func (s *laidOut) putTapes(put func(k, v []byte) error, lo, hi int64) error {
	const capacity, labels = 18e12, 3 * 80 * 2 // bytes
	for tape := lo; tape < hi; tape++ {
		first, behind := s.onTape(tape)
		t := tapeapi.Tape{VID: hemera.VID(s.vid(tape)), MediaType: s.Tape.Media, Library: s.Tape.Library, Pool: s.Tape.Pool, Capacity: capacity, State: tapeapi.Active,
			Files: behind - first, LastFSeq: uint64(behind - first), LastID: uint64(s.id(behind - 1)), Full: tape < s.tapes()-1, Labelled: s.now, Written: s.now, Made: s.now}
		// Sizes are arithmetic too.
		for i := first; i < behind; i++ {
			t.Bytes += s.size(i)
		}
		t.Occupancy = t.Bytes + t.Files*labels
		if err := putRecord(put, schema.TapeKey(schema.TableTape, t.VID), schema.EncodeTape, &t); err != nil {
			return err
		}
	}
	return nil
}

// putJobs makes the jobs of a range of files.
func (s *laidOut) putJobs(put func(k, v []byte) error, lo, hi int64) error {
	for i := lo; i < hi; i++ {
		j := s.job(i)
		if err := putRecord(put, schema.JobKey(j.JobKey), schema.EncodeJob, &j); err != nil {
			return err
		}
	}
	return nil
}

// putArchives makes the queue order of archive jobs, for a range of files.
func (s *laidOut) putArchives(put func(k, v []byte) error, lo, hi int64) error {
	for i := lo; i < hi; i++ {
		j := s.job(i)
		if err := put(schema.OrderKey(&j), nil); err != nil {
			return err
		}
	}
	return nil
}

// recalls visits the recalls of each tape and user, in the order of keys.
func (s *laidOut) recalls(visit func(lo, hi int64, vid hemera.VID, uid uint32) error) error {
	end := s.Tape.Archive + s.Tape.Recall
	for tape := range s.tapes() {
		lo, hi := s.onTape(tape)
		// They are the first files on tape, so they are on the first tapes.
		if hi = min(hi, end); lo >= hi {
			break
		}
		for u := range s.Tape.Users {
			// The first file of the tape that the user requested.
			from := lo + ((u-lo)%s.Tape.Users+s.Tape.Users)%s.Tape.Users
			if from >= hi {
				continue
			}
			if err := visit(from, hi, hemera.VID(s.vid(tape)), firstUser+uint32(u)); err != nil {
				return err
			}
		}
	}
	return nil
}

// putRecalls makes the queue order of all recalls.
func (s *laidOut) putRecalls(put func(k, v []byte) error, _, _ int64) error {
	return s.recalls(func(lo, hi int64, _ hemera.VID, _ uint32) error {
		for i := lo; i < hi; i += s.Tape.Users {
			j := s.job(i)
			if err := put(schema.OrderKey(&j), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// putQueues makes the sums of all queues.
func (s *laidOut) putQueues(put func(k, v []byte) error, _, _ int64) error {
	sum := func(kind tapeapi.JobKind, name string, uid uint32, lo, hi, step int64) error {
		var q schema.QueueSum
		for i := lo; i < hi; i += step {
			q.Files, q.Bytes = q.Files+1, q.Bytes+s.size(i)
		}
		return put(schema.UserQueueKey(schema.TableQueue, uint8(kind), name, uid), schema.AppendQueueSum(nil, &q))
	}
	// Kinds in the order of their numbers, then names, then users.
	if s.Tape.Archive > 0 {
		if err := sum(tapeapi.Archive, string(s.Tape.Pool), s.UID, 0, s.Tape.Archive, 1); err != nil {
			return err
		}
	}
	return s.recalls(func(lo, hi int64, vid hemera.VID, uid uint32) error {
		return sum(tapeapi.Recall, string(vid), uid, lo, hi, s.Tape.Users)
	})
}
