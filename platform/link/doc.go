// Package link is how bytes get in and out of a process: one TCP port that serves every protocol,
// the socket options that make dead peers known in bounded time, pollers that serve many connections
// with few threads, a network in memory for tests, and connections that fail on command.
//
// It knows protocols only by the first byte a client sends. What a connection says is its door's
// business; who the client is, package auth's.
package link
