// Package admin is the door for people and programs that run a cluster: an HTTP API served on the
// same port as root://, Prometheus metrics at /metrics, liveness at /healthz and a page that lists
// them at /. It is protocol in, one service call, protocol out; every decision is behind the
// hemera.* interfaces it is given.
//
// The API speaks the Connect protocol with JSON bodies, so that a verb is one POST:
//
//	curl -H 'Content-Type: application/json' -d '{}' http://localhost:1094/hemera.admin.v1.Admin/View
//
// Messages are the structs of package hemera with Go's field names; durations are nanoseconds, byte
// slices base64, checksums "kind:hex". A request with a field the server does not know is refused; a
// client ignores fields it does not know. Errors keep their kind, remedy and trace id.
//
// [Client] speaks the same API and implements the same hemera.* interfaces, so a command cannot
// tell a remote manager from one in its own process.
package admin
