// Package complete offers the words that a shell completes: disks, nodes, spaces and paths of the cluster. A shell
// waits for them, so each answer has a time limit, and a manager that cannot be reached means no words, never an error.
package complete
