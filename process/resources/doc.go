// Package resources decides how much of the machine a server process uses: connections and requests of all its ports
// together ([Bounds]), and the memory of a manager ([SplitCache], [MemoryLimit]).
//
// The rules themselves are in rules/limits; this package gives them the figures of this process, and the one place that
// all its ports ask. A process has one Bounds; `hemera up` shares it between the manager's port and those of its nodes.
package resources
