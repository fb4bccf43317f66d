// Package cluster knows the nodes, disks and spaces: what an admin decided about them, which is
// durable in the manager's kv store, and what nodes last reported, which is not. From both it makes
// an immutable hemera.View for whoever decides.
//
// Each registration gives a node a new epoch, its lease. The lease ends with the next registration
// or after [hemera.HeartbeatTimeout] of silence by the monotonic clock; calls under an ended lease
// are Fenced, and the node registers anew. Epochs are durable, so they never repeat.
//
// # Keys in the store
//
// All begin with [Prefix]; values are JSON, and unknown fields are ignored.
//
//	node/<8 hex id>   nodeRecord
//	disk/<8 hex id>   diskRecord
//	space/<name>      spaceRecord
//	attach/<8 hex node>/<path>  attachRecord: a disk an admin added that its node has not taken yet
//	token/<hex sha256 of the token>  auth.TokenRecord
//	key/<8 hex id>    keyRecord: a capability key
//	authority         authorityRecord: which certificate authority the cluster has
//	next              the next node and disk ids; ids are never reused
package cluster
