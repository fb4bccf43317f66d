// Package jobs does what the manager orders for one piece on a disk of this node: copy it from others, verify it, repair it.
//
// A [Worker] reads the sources as any reader does, so a bad page of one is taken from another. A job that comes twice finds its work
// done. A piece is there whole, or not: a copy that fails leaves what was there. Calls block for disks and peers; their context ends them.
package jobs
