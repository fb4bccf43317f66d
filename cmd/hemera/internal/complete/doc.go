// Package complete offers the words that a shell completes: disks, nodes, spaces and paths of the cluster.
//
// A shell waits for the words while its user does, so each answer has a time limit, and a manager that cannot be reached
// gives no words, and never an error or a warning on the terminal. Each function takes the environment of the command and
// returns a function that cobra calls with the words so far; most offer words for the first argument only.
package complete
