// Package condition finds problems in a snapshot of the cluster. It is pure: the same snapshot gives the same list, and
// the list has all problems that `hemera status`, the metrics and alerts show. Each rule looks at one kind of thing;
// docs/operations.md has the table of their codes.
//
// A condition has a code that never changes its meaning, because alerts are written for it; a severity; a subject, such
// as "disk 7"; and a text and a remedy for a person. Errors hurt users now: files that cannot be read, no room. Warnings
// will hurt users later, or are a lack of redundancy. Information is something that an admin wanted, such as a node that
// is stopping.
//
// Rules run in a fixed order over one snapshot, and do not depend on each other. To add a condition: a code with its
// place in codes, a rule or a case of one that fits, a case in the test of rules, and a row of the table in
// docs/operations.md.
//
// A rule names each thing at most once under one code, and leaves out consequences of another condition: it reports an
// offline node, not the disks of that node. Lists are bounded: thousands of exceeded quotas make one condition for all
// beyond the first.
package condition
