// Package tapeconfig is the configuration of the tape tier and its rules: which objects there are, what they may refer to, which pool
// a copy goes to, which mount policy a request gets, and what the state of a tape permits. It is pure.
//
// A file has a storage class, from an attribute of its directory. The class says how many copies there are on tape, and for each copy
// an archive route names the tape pool. A pool belongs to a virtual organisation, which has a number of drives at most. Requests get a
// mount policy by mount rules: priorities, and the age at which a mount begins for few files.
//
// The words and the keys of the JSON are those of CTA (cta-admin --json), so that scripts of operators find what they know. Objects
// that CTA needs and a single system does not (disk instance, physical library) are left out. [Defaults] is what a fresh system
// begins with: it archives without any set-up.
//
// A [Config] is a value. [Config.Apply] returns a changed copy or says why the change makes no sense: a reference to an object that is not
// there, a removal of one that others use. The owner stores each object by itself, as JSON: [Config.Objects] and [Config.Put].
//
// # Invariants
//
//   - What an object refers to is there ([Config.Check]); only tape libraries need no object, they are enabled without one.
//   - A class without a route for each of its copies archives nothing ([Config.Resolve]): a file is never on fewer tapes than its class says.
//   - Two copies of a file never go to one pool by the same type of route, so they are never on one tape.
//   - The policy [DefaultName] and the criteria of mounts cannot be removed: each request has a policy.
package tapeconfig
