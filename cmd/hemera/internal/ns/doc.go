// Package ns has the commands of hemera ns: the manager's namespace as a store. stat, check, backup and benchmark ask
// a running manager; restore, rekey, load, and check and backup with a directory, open the state of one that does not
// run.
package ns
