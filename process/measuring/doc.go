// Package measuring runs measurements of this machine for the manager: `hemera bench` and `hemera doctor`, in a separate
// process.
//
// It is a separate process because a load within the node would also measure the node, and because the same code removes
// the files of a measurement as for a user who types Ctrl-C. The command comes from the manager, so it is checked here:
// [Plan] accepts the levels and flags that read the machine or make their own files, and refuses all others. A
// measurement may take minutes and uses the machine as much as it can, which is its purpose.
package measuring
