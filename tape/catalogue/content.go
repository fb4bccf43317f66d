package catalogue

import (
	"strconv"

	"hemera/namespace/schema"
	"hemera/rules/policy"
	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// archiveJob returns the job that writes a copy of the content of an entry to a pool.
func archiveJob(t Txn, e *hemera.Entry, number uint8, pool tapeapi.PoolName, rules *tapeconfig.Settings) tapeapi.Job {
	return tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: number}, ArchiveID: e.ArchiveID(), Queue: string(pool),
		Size: e.Size, UID: e.UID, Asked: t.Now(), Policy: rules.PolicyOf(tapeconfig.Requester{UID: e.UID, Groups: []uint32{e.GID}})}
}

// NoClass is the value of the attribute with which a directory ends what those above it ask for.
const NoClass = "none"

// classOf returns the storage class for files of the owner in the last of dirs: the nearest attribute that holds for them
// decides.
func classOf(dirs []*hemera.Entry, owner uint32) string {
	s, _ := policy.Nearest(dirs, owner, hemera.AttrStorageClass)
	if class := string(s.Value); class != NoClass {
		return class
	}
	return ""
}

// fresh lists the attributes that a new content begins without.
func fresh() map[string]string {
	return map[string]string{hemera.AttrArchiveID: "", hemera.AttrStorageClass: "", hemera.AttrArchiveError: "",
		hemera.AttrRecallIDs: "", hemera.AttrRecallTime: "", hemera.AttrRecallError: "", hemera.AttrEvictCounter: "", hemera.AttrRecallPins: "", hemera.AttrReleased: ""}
}

// Attributes returns the attributes of a name whose content becomes another one that has been archived, or is to be: what they say of tapes is of the
// content, and all else of the name.
func Attributes(name map[string][]byte, content *hemera.Entry) map[string][]byte {
	out := make(map[string][]byte, len(name))
	for key, value := range name {
		if !Reserved(key) {
			out[key] = value
		}
	}
	for key, value := range content.Xattrs {
		if Reserved(key) {
			out[key] = value
		}
	}
	return out
}

// Reserved reports whether an attribute of files is the system's.
func Reserved(name string) bool {
	_, ok := fresh()[name]
	return ok
}

// Enlist prepares the entry of a new content in the last of dirs, which is not stored yet: it has
// no copies on tape, and where the directories ask for it the content is queued for its copies. An
// empty one is archived by its record alone. The entry's attributes are replaced, not changed.
func (t Txn) Enlist(e *hemera.Entry, dirs []*hemera.Entry, rules *tapeconfig.Settings) error {
	class, was := classOf(dirs, e.UID), e.Xattrs[hemera.AttrArchiveID] != nil || e.Xattrs[hemera.AttrRecallIDs] != nil
	// An update and a replacement begin with a copy of the old entry: what it says of tapes is about
	// another content.
	e.Tape = nil
	if class == "" || rules == nil {
		if was {
			*e = *attributed(e, fresh())
		}
		return nil
	}
	_, err := t.enlist(e, class, rules)
	return err
}

// enlist gives the content its archive id and queues it. It returns how many jobs it made. A class that cannot be used, and a file that is
// too large, are errors for people, and none of the commit: the content is held.
func (t Txn) enlist(e *hemera.Entry, class string, rules *tapeconfig.Settings) (jobs int, err error) {
	attrs := fresh()
	// The number of the write that made the content: no other content ever has it.
	id := uint64(schema.WriteNumber(hemera.PieceID{File: e.ID, Gen: e.Gen}))
	attrs[hemera.AttrArchiveID], attrs[hemera.AttrStorageClass] = strconv.FormatUint(id, 10), class
	// An empty content needs no tape, so whether a pool takes it does not matter.
	if e.Size == 0 {
		*e = *attributed(e, attrs)
		return 0, nil
	}
	pools, err := rules.PoolsOf(class, e.Size)
	if err != nil {
		attrs[hemera.AttrArchiveError] = whyHeld(class, err)
	}
	*e = *attributed(e, attrs)
	if err != nil {
		return 1, t.replaceJob(holding(t, e, class, err))
	}
	// A job for each copy: they go to different pools, at different times, and each is retried alone.
	for i, pool := range pools {
		if err := t.replaceJob(archiveJob(t, e, uint8(i+1), tapeapi.PoolName(pool), rules)); err != nil {
			return 0, err
		}
	}
	return len(pools), nil
}

// replaceJob adds a job in place of one for an earlier content.
func (t Txn) replaceJob(j tapeapi.Job) error {
	now, err := t.Job(j.JobKey)
	if err != nil {
		return err
	}
	if now != nil {
		if err := t.dequeue(now); err != nil {
			return err
		}
	}
	return t.putJob(&j)
}

// RetireContent records that the content of an entry is replaced, or removed for good: its jobs end, and the rows of its tape
// copies keep what is needed to bring it back until their tape is reclaimed. path is where the file was, why what
// happened.
func (t Txn) RetireContent(e *hemera.Entry, path, why string) error {
	// Most files were never to be archived, and cost nothing here.
	if e.ArchiveID() == 0 {
		return nil
	}
	for _, c := range e.Tape {
		if err := t.bury(e, c, path, why); err != nil {
			return err
		}
	}
	return t.dequeueAll(e.ID, tapeapi.Archive, tapeapi.Recall, tapeapi.Verify, tapeapi.Repack)
}

// bury takes one copy out of the live files of its tape.
func (t Txn) bury(e *hemera.Entry, c hemera.TapeCopy, path, why string) error {
	f, err := t.file(c)
	if err != nil || f == nil {
		return err
	}
	// The row stays: tape cannot forget, and until the tape is reclaimed the content can be brought
	// back.
	dead := *f
	dead.Dead = &tapeapi.DeadFile{Path: path, Removed: t.Now(), Why: why, UID: e.UID, GID: e.GID, Mode: e.Mode, Mtime: e.Mtime,
		Class: e.StorageClass(), Sums: e.Checksums}
	if err := t.putFile(&dead); err != nil {
		return err
	}
	return t.count(c.VID, -1, -e.Size)
}
