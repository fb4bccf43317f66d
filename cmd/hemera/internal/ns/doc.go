// Package ns has the commands of hemera ns: the manager's namespace as a store.
//
// stat, check, backup, rebuild and benchmark ask a running manager. restore, rekey, rebuild prepare and load, and check
// and backup with a directory, open the state of a manager that does not run (package statedir); a lock excludes both at
// once.
//
// An archive is verified while it is copied: backup reads what it writes, and publishes the file only after the last
// checksum matched. Archives and restored state have the cluster's secrets, so their files are readable by their owner
// only.
//
// benchmark measures the namespace in phases. Inside the manager (the default) the manager runs the phases and sends
// progress; with --wire this process runs them with one session for each thread (package nsbench does both). An
// interrupted run removes its files; therefore the first interruption does not end the process.
//
// Commands that open a state directory close it in every case, also when they fail.
//
// Goroutines: takeBackup has one that receives the archive; progress lines have one that draws (Console.Follow). Both
// have ended when their command returns. benchmarkTeller.mu guards the terminal between the run and an interruption.
package ns
