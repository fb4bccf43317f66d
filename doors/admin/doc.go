// Package admin is the door for administrators and programs: an HTTP API at the same port as root://, Prometheus metrics
// at /metrics, liveness at /healthz, and a page at / that lists the verbs. It decodes a request, calls one service, and
// encodes the result; every decision is behind the hemera.* interfaces that it gets.
//
// The API uses the Connect protocol with JSON bodies, so that a verb is one POST:
//
//	curl -H 'Content-Type: application/json' -d '{}' http://localhost:1094/hemera.admin.v1.Admin/View
//
// Package adminapi defines the messages and their encoding. Errors keep their kind, remedy and trace id. Package
// client/admin is the client.
//
// [NewHandler] lists the subjects (cluster, names, quota …); each has a file with its verbs.
//
// Identity: a request is identified before its body is read. Over the unix socket and on loopback the identity is the
// owner of the calling process; a call from another machine comes through an XRootD session ([NewCalls]) and has that
// session's identity. Verbs on files run as that identity, all others need an admin. Requests of web pages are refused.
//
// The handler keeps no state except the turns of users, and serves any number of requests concurrently. It holds no lock
// while it calls a service. A verb blocks as long as its service; streams end when their client leaves.
//
// DESIGN.md explains walks of trees and calls from other machines.
package admin
