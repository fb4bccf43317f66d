// Package ahead reads a striped file ahead of a caller that reads it in order.
//
// The blocks of a coded file are on several disks. A caller that asks for little at a time, and waits for each answer, uses
// one disk after the other, and waits for the way to each of them. A [Reader] notices that it reads in order, and fetches the
// blocks that come next from their disks, all at once, while the caller is busy with what it has.
//
//	caller       ─ block 0 ─┐
//	                        ├─ block 1, in order: the run has begun
//	fetched ahead           └───────── block 2   block 3   block 4   (several disks at once)
//
// # When
//
// A run begins with the third read in order. What is fetched ahead grows with the run, up to twice a row or [WindowMax]. Reads
// that are as long as a row use all disks by themselves, and end the run. So does a read elsewhere. What is on a disk of
// this machine is left to the kernel, which reads ahead too.
//
// # Bounds
//
// A file has at most [WindowMax] bytes in parts, all files of a [Budget] as many as it allows. Without room nothing is
// fetched ahead, and reads are as they would be. A part that is lent counts until it is returned.
//
// # Copies
//
// A caller that sends what it reads borrows it with [Reader.Lend], so that it goes from the memory that it was fetched into to
// the client. [Reader.ReadPages] copies.
//
// # Invariants
//
//   - What is returned was fetched by the caller's own function, with the checksums that came with it.
//   - A part that could not be fetched is forgotten: the caller's read fetches it, with all that a read does about failures.
//   - Memory is used again only after the fetch into it has succeeded, and when nobody has it on loan.
//
// # Concurrency
//
// A Reader may be used by several goroutines; those that read at different places end each other's runs. Its lock is not held
// while anything is fetched or waited for. Each part in flight has a goroutine, which ends with the fetch.
package ahead
