// Package convert has the commands that have files stored in another form: another layout, block size, space or checksum.
// The manager remembers each request and works on it in the background; the commands ask, list and stop.
//
// They use the admin API, for admins. Nothing here decides how a file is stored: package rules/lifecycle does, at the manager
// and for --dry-run alike. Records have the keys of package hemera's Conversion, and of a job those of other jobs.
package convert
