// Package adminapi has the words of the admin API: what its door and its clients say to each other, and how it is written.
//
// A verb is one POST to [Service] and its name. Requests and answers are structs in JSON with Go's field names; durations are nanoseconds,
// byte slices base64, checksums "kind:hex". [Codec] writes names that are not UTF-8 in a way that brings every byte back.
//
// The interfaces of the services behind the door are here with the types that only they use: [ClusterAdmin], [TrustAdmin], [TokenAdmin],
// [MaintAdmin], [StatusAdmin], [ConvertAdmin], [QuotaAdmin], [RecycleBin], [Observer], [WriteAdmin], [Backups], [Rebuilder], [Benchmarker],
// [TapeAdmin], [TapeKeys]. A client implements them, too. Interfaces and
// types that nodes and the storage below the services share are in package hemera, those of tapes in package tapeapi. Requests and answers that no
// interface has are in messages.go.
//
// Fields are added, never renamed. A server refuses fields that it does not know; a client ignores them. A message of a stream carries
// some hundred entries at most.
//
// All functions are pure, and values have no locks: what a service returns belongs to the caller. Errors are those of package errs; the door
// writes them with kind, subject, cause and remedy, and a client makes the same error of them again. Whether a call may be repeated, and what
// is durable when it returns, is said at each method.
package adminapi

const (
	// Service begins the path of each verb. v1 stays: fields are added to messages, never renamed.
	Service = "/hemera.admin.v1.Admin/"
	// RequestMax bounds a request's body: the largest is one extended attribute.
	RequestMax = 1 << 20
	// TraceHeader carries the trace id: taken from a request if it looks like one, in every answer.
	TraceHeader = "Hemera-Trace"
)
