// Package measuring runs measurements of this machine for the manager: `hemera bench` and `hemera doctor`, in a process of its own.
//
// A process of its own, because a load within the node would measure the node with it, and because what it makes is removed by the
// same code as for a user who types Ctrl-C. The words come from the manager, so they are judged here: [Plan] knows the levels and
// flags that read the machine or make files of their own, and refuses all others. A measurement may take minutes and uses the
// machine as much as it can, which is its purpose.
package measuring
