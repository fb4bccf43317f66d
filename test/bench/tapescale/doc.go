// Package tapescale measures what the tape tier of a manager costs when its catalogue is large: two catalogues, one small
// and one large, are loaded past commits (see [hemera/measure/nsload]), each is opened as a manager opens it, and both are
// asked the same in turn. What grows with files or jobs shows as the ratio of the two.
//
// The tier is asked from inside, as its doors ask it: a call is a decision or a listing as a whole, with all that it reads
// of the store. Changes are durable when a call returns. There are as many tapes and users in both catalogues, since
// decisions are made from tapes and users' queues. A tape of the small one has fewer files, so a page of them may be
// shorter. Contents do not move: grants are words.
package tapescale
