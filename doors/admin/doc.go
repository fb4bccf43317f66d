// Package admin is the door for people and programs that run a cluster: an HTTP API at the same port as root://,
// Prometheus metrics at /metrics, liveness at /healthz, and a page at / that lists the verbs. It is protocol in, one
// service call, protocol out; every decision is behind the hemera.* interfaces that it gets.
//
// The API speaks the Connect protocol with JSON bodies, so that a verb is one POST:
//
//	curl -H 'Content-Type: application/json' -d '{}' http://localhost:1094/hemera.admin.v1.Admin/View
//
// Messages and how they are written are in package adminapi. Errors keep their kind, remedy and trace id. Package
// client/admin is the other side.
//
// [NewHandler] lists the subjects (cluster, names, quota …); each has a file with its verbs.
//
// Identity: a request has one before its body is read. Over the unix socket and on loopback it is the owner
// of the process; a call from another machine comes through an XRootD session ([Calls]) with that session's identity.
// Verbs on files are done as that identity, all others need an admin. Web pages are refused.
//
// The handler keeps no state but the turns of users, and may serve any number of requests at a time. It holds
// no lock over a call of a service. A verb blocks as long as its service; streams end with their client.
//
// DESIGN.md explains walks of trees and calls from other machines.
package admin
