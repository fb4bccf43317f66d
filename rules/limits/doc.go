// Package limits counts the resources that clients use, and refuses requests beyond a bound: for all clients together,
// and for each of them.
//
// A [Budget] bounds one kind of resource (connections, bytes of memory, open files). Each client has an [Account] in it,
// by address before login and by identity afterwards. An account has a share of the budget, so that one client cannot use
// all of it. A part of a budget can be reserved for admins. [Connections] is the rule for all connections of a process.
//
// The package does no I/O. It reads the clock only to record when a budget last refused a request. All of it is safe for
// concurrent use.
package limits
