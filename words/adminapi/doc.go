// Package adminapi has the words of the admin API: what its door and its clients say to each other, and how it is written.
//
// A verb is one POST to [Service] and its name. Requests and answers are structs in JSON with Go's field names; durations are nanoseconds,
// byte slices base64, checksums "kind:hex". [Codec] writes names that are not UTF-8 in a way that brings every byte back.
//
// Fields are added, never renamed. A server refuses fields that it does not know; a client ignores them. All functions are pure.
package adminapi

const (
	// Service begins the path of each verb. v1 stays: fields are added to messages, never renamed.
	Service = "/hemera.admin.v1.Admin/"
	// RequestMax bounds a request's body: the largest is one extended attribute.
	RequestMax = 1 << 20
	// TraceHeader carries the trace id: taken from a request if it looks like one, in every answer.
	TraceHeader = "Hemera-Trace"
)
