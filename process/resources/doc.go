// Package resources decides how much of the machine a server process uses: connections and requests of all its ports
// together ([Bounds]), and the memory of a manager ([SplitCache], [MemoryLimit]).
//
// Package rules/limits has the rules; this package has the figures of this process. A process has one Bounds for all its
// ports; `hemera up` shares it between the manager's port and those of its nodes.
package resources
