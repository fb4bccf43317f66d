// Package tapetest is the contract of tape/device as tests.
// Each implementation runs the suite from a test of its own:
//
//	func TestContract(t *testing.T) { tapetest.Run(t, open) }
//
// What a test proves is in its comment. The rules are those of
// SCSI stream commands (SSC-5) as Linux's st driver shows them,
// and the errors are those of tape/device. Where drives differ,
// a test accepts each way that a caller can live with, and says
// so.
//
// The suite needs a blank cartridge for each test, and nothing
// but the interfaces. What only some devices can is skipped where
// it is missing.
package tapetest
