// Package condition finds what is not as it should be in one picture of the cluster. It is pure: the
// same snapshot gives the same list, and the list has everything that `hemera status`, the metrics and
// alerts show. Each rule looks at one kind of thing; docs/operations.md has the table of their codes.
//
// A condition has a code that never changes its meaning, because alerts are written for it; a severity; a subject, such as
// "disk 7"; and a text and a remedy for a person. Errors are what hurts users now: files that cannot be read, no room. Warnings
// are what will, or what lacks redundancy. Information is what somebody wanted, such as a node that is stopping.
//
// Rules run in a fixed order over one snapshot, and know nothing of each other. To add a condition: a code with its place in
// codes, a rule or a case of one that fits, a case in the test of rules, and a row of the table in docs/operations.md.
//
// A rule names each thing at most once under one code, and leaves out what follows from another condition: the disks of an
// offline node are not reported, the node is. Lists are bounded: what thousands of quotas would say is one condition.
package condition
