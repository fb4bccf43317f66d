// Package tapetest is the contract of platform/tape as tests. Each implementation
// runs the suite from a test of its own:
//
//	func TestContract(t *testing.T) { tapetest.Run(t, open) }
//
// The suite needs a blank cartridge for each test, and nothing but the
// interfaces. What only some devices can is skipped where it is missing.
package tapetest
