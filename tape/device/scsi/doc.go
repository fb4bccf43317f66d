// Package scsi encodes the commands that tape drives and changers take, and decodes what they answer. It is pure: a
// function makes bytes of values or values of bytes, and package linux carries them to a device.
//
// # Commands
//
// A [Command] is a descriptor block (CDB), what is sent with it, and the most that may come back. Each constructor names
// the command of the standard: [Inquiry], [Locate], [ReadElementStatus]. The length of an answer is bounded by the
// constructor, so that a device cannot make the caller allocate.
//
// # Answers
//
// A decoder takes the bytes of an answer as they came, cut or damaged. It never reads behind them, and it fails with
// errs.Corrupt when they are too short for what they say. Lengths within an answer are believed only as far as there are
// bytes.
//
// # Sense
//
// A command that fails leaves sense data. [DecodeSense] reads both formats (fixed and descriptor); [Sense.Err] returns the
// error of package tape that callers ask for, and [Sense.Retry] says if the same command may succeed later.
//
// # Sources
//
// SPC-5 for INQUIRY, sense, mode and log pages; SSC-5 for stream commands, encryption and recommended access order; SMC-3
// for changers. What only vendors define is marked at its place: the logical block protection page is in SSC-5, the
// end of wrap positions are IBM's. Numbers are big endian.
package scsi
