// Package reconnect is the memory of an XRootD door about clients, so that a client that lost its connection continues
// its work and neither gets other data nor loses some.
//
// Stock clients say little when they reconnect. They open a path again, without the options of a first open, and expect
// to continue at their offset. At most they name the session that was lost. The types here answer three questions:
//   - [ReadHistory]: which content of this path did this client process read? Its open gets the same content again, or
//     an error, but never another content behind the same offset.
//   - [LostWrites]: which write was open in the session that this client lost? Only a manager's door that opens files
//     itself needs it: a client that was redirected returns to its node with a capability.
//   - [OpenHistory]: at which nodes and disks has this session failed, for this path? Clients name hosts, and a host
//     may run several nodes.
//
// Everything is kept in memory, bounded, and lost when the process ends. [BeganAt] dates a session by its id alone, so
// that a new process can still refuse content that may have changed since. Locks guard memory only, and nothing blocks.
package reconnect
