// Package conform holds proof suites for things that have more than one implementation: each runs
// the same checks against whatever it is given.
package conform
