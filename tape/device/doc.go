// Package device is what Hemera needs of tape hardware: drives that read and write cartridges, and changers that carry
// cartridges between slots and drives. It has no policy: which tape is mounted, what is written and how files look on
// tape is decided above.
//
// Two implementations stand behind these interfaces, and one suite, tapetest, holds both to the same contract:
// emulated (cartridges are sparse files) and linux (st, SG_IO and the SCSI media changer).
//
// A tape is a sequence of objects: blocks of up to 8 MiB, and filemarks. Objects are numbered from 0 at the beginning of
// the tape, as LOCATE and READ POSITION of SCSI stream commands count them (SSC-5, section 4.2). Writing an object removes
// all objects that came after it.
//
// What was written is durable only when Flush, or WriteMarks without immediate, has returned nil. A power cut may take
// everything since then.
package device
