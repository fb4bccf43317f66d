// Package taperest is the door for the WLCG tape REST API, version 1: with it FTS, gfal and Rucio bring files from tape
// to disk before they copy them. Each call becomes one call of tapeapi.Staging.
//
//	GET    /.well-known/wlcg-tape-rest-api   where the API is
//	POST   /api/v1/stage                     ask for files; 201 with the id of the request
//	GET    /api/v1/stage/ID                  the state of each file
//	POST   /api/v1/stage/ID/cancel           withdraw some files
//	DELETE /api/v1/stage/ID                  withdraw all of them, and forget the request
//	POST   /api/v1/release/ID                files are not needed on disk any more
//	POST   /api/v1/archiveinfo               where files are
//
// A path may end with a slash, because some clients send one. The content type of a body does not matter. Lists of paths
// are {"paths":[…]} or {"files":[{"path":…}]}. Unknown fields are ignored, because the specification allows clients to
// send them. Answers and errors are those of EOS: an error is {"title","status","detail","type"}.
//
// # Identity
//
// A request has an identity before its body is read, from the [Authorizer] of the process. Without an identity the answer
// is 401, except for .well-known, which returns only the address that the client has used. Requests from web pages are
// refused, because their identity would be that of the browser's user.
//
// # Limits
//
// A body has at most 16 MiB and arrives within a minute, and a request names at most [tapeapi.StagePathsMax] paths. The
// number of requests with bodies under way, and the bytes of their bodies in memory, are bounded for each user and in
// total; beyond that the answer is 503. The door keeps no other state, and the handler is safe for concurrent use. A
// request blocks as long as the service.
package taperest
