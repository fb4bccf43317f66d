// Package recallorder puts recalls from one tape into an order in which the tape travels little. It is pure and knows no drive: the caller
// gives a function that says how long a locate takes.
//
// A random locate on an LTO tape takes about 50 s, most of it because the tape winds to another place and turns round. Requests in the order of
// asking pay that for each file. In a good order the next file is near, often on another wrap beside: about 12 s.
//
// # Method
//
// [Order] goes from the place where the tape stands to the segment that is nearest in time, and so on: the greedy order, which CTA uses too. It
// leaves far segments for the end. Then runs of segments are moved to where they cost less, as long as that helps (Or-opt). Runs are never turned round:
// a locate takes another time there than back. The linear order, by number of the object, is the other beginning; the better one is kept.
//
// # Cost
//
// n segments take n*n calls of the cost function for the greedy order and at most [movesMax] tries a segment for moves. More than
// [chunkMax] segments are cut into chunks along the tape, so that time grows with n. Nothing depends on a clock or on chance: the same input gives the same order.
package recallorder
