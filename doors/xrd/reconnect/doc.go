// Package reconnect is what an XRootD door remembers of clients, so that one that lost its connection goes on with what
// it was doing instead of getting other data, or losing some.
//
// Stock clients say little when they come back. They open a path again, without the options of a first open, and expect
// to go on at their offset. They name at most the session that was lost. The types here answer three questions:
//
//   - [ReadHistory]: which content of this path was this client process reading? Its open gets the same content again,
//     or an error, but never another content behind the same offset.
//   - [LostWrites]: which write had the session open that this client lost? Only a manager's door that opens files
//     itself needs it: a client that was redirected returns to its node with a capability.
//   - [OpenHistory]: which nodes and disks has this session failed at, for this path? Clients name hosts, and a host may
//     run several nodes.
//
// Everything is kept in memory, bounded, and lost when the process ends; [BeganAt] dates a session that only its id is
// known of, so that a new process can still refuse what may have changed since. All locks are held over memory only,
// and nothing blocks.
package reconnect
