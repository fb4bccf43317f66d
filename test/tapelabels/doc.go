// Package tapelabels reads a tape by its labels alone, as docs/tape/format.md has them. It is a second reader beside package tape/volume and uses
// nothing of Hemera: tests compare what it reads with what Hemera wrote and with what the namespace says.
//
// A tape is a list of objects. [Image] reads them from an image in SIMH's format, [Cartridge] from a cartridge of the emulated library.
package tapelabels
