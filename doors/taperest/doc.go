// Package taperest is the door for the WLCG tape REST API, version 1: what FTS, gfal and Rucio use to bring files from tape to
// disk before they copy them. It is protocol in, one call of hemera.Staging, protocol out.
//
//	GET    /.well-known/wlcg-tape-rest-api   where the API is
//	POST   /api/v1/stage                     ask for files; 201 with the id of the request
//	GET    /api/v1/stage/ID                  the state of each file
//	POST   /api/v1/stage/ID/cancel           withdraw some files
//	DELETE /api/v1/stage/ID                  withdraw all of them, and forget the request
//	POST   /api/v1/release/ID                files are not needed on disk any more
//	POST   /api/v1/archiveinfo               where files are
//
// A path may end with a slash, as some clients send it. The content type of a body does not matter. Lists of paths are
// {"paths":[…]} or {"files":[{"path":…}]}. Fields that are not known are ignored, as the specification lets clients send
// more. Answers and errors are those of EOS: an error is {"title","status","detail","type"}.
//
// # Identity
//
// A request has an identity before its body is read, from the [Authorizer] that the process gives. Without one it is answered
// 401, but for .well-known, which tells nothing that a client does not know: its own address. Requests from web pages are
// refused, as the identity is that of the user whose browser it is.
//
// # Limits
//
// A body has at most 16 MiB and arrives within a minute, and a request names at most [hemera.StagePathsMax] paths. Requests with bodies that are
// served, and the bytes of their bodies that have arrived, are bounded by user and in all; more are answered 503. The
// door keeps no other state, and the handler is safe for concurrent use. A request blocks as long as the service does.
package taperest
