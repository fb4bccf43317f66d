// Package catalogue is what the namespace knows of tapes: which copies a file has there, what is on
// each tape, and the jobs that wait. All of it is records of the namespace's store, written in the
// same transactions as the entries: a tape copy that is in an entry is in the list of its tape, and
// a file that is to be archived is in a queue from its commit on. There is no second catalogue to
// reconcile.
//
// # Records
//
//	entry       its tape copies, and attributes that say what is to be done: see hemera.AttrArchiveID and its neighbours
//	tape        a tape with its counts
//	tape file   an entry's copy, by tape and fSeq; of a removed content what is needed to bring it back
//	job         a file to archive, recall, verify or repack; by file, and in the order of its queue
//	queue       the number of jobs and bytes of each user in a queue
//	scan        what was ordered for, and became of, the last scan of a tape
//	mount       what a drive was given last
//	found       of a number on a scanned tape the file that was made of it
//
// # Two sides
//
// [Txn] is the rules within a transaction: package namespace calls them where contents come and go.
// [Catalogue] is what the manager calls. It makes files of what is on tape, too: found.go of what a
// scan found, undelete.go of what was removed.
//
// # What is durable when
//
// A job is in the batch of the commit, or of the request, that asks for it. A tape copy is recorded
// once the tape server says that its tape has it durably; the job ends in the same batch. So a
// crash repeats work, and loses none: a content that was written to tape and not recorded is
// written over by the next session of that tape.
//
// # Invariants
//
//   - A copy in an entry has a live row in the list of its tape, and each live row is a copy of an
//     entry. The counts of the tape are those of its live rows.
//   - The rows of a tape follow the fSeq of what was written. Nothing is recorded behind a gap.
//   - A job has one place in one queue, and the sums of queues are exact. A job is of one content, by
//     its archive id: when the content goes, its jobs go.
//   - A file that is to be archived has, for each copy of its class, the copy or a job. A file that no
//     pool takes has one job, which holds it. An empty file has an archive id and no job: its record is
//     its archive, whatever its class says, as long as it is empty (hemera.Entry.OnTape).
//
// nscheck works out the first three again; the fourth is a test.
package catalogue
