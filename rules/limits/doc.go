// Package limits counts what clients cost and says when it is too much: in all, and for each of them.
//
// A [Budget] bounds one kind of thing (connections, bytes of memory, open files). Each client has an
// [Account] of it, by address before it logged in and by identity afterwards, with a share of the whole,
// so that none of them can use all up. Part of a budget can be kept in reserve for admins.
// [Connections] is the rule for all connections of a process.
//
// The package does no I/O and has no clock. Everything in it is safe for concurrent use.
package limits
