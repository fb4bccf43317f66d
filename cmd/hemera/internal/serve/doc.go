// Package serve has the commands that run a server until a signal ends it: up, manager, node and tape. They turn the
// settings of package config into the options of package daemon, and prepare the process: its memory limit, its threads
// and the permissions of new files.
package serve
