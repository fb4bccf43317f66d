// Package condition finds what is not as it should be in one picture of the cluster. It is pure: the
// same snapshot gives the same list, and the list has everything that `hemera status`, the metrics and
// alerts show. Each rule looks at one kind of thing; docs/operations.md has the table of their codes.
package condition
