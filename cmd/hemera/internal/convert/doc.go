// Package convert has the commands that store files in another form: with another layout, block size, space or checksum.
// The manager remembers each request and works on it in the background; the commands request, list and stop.
//
// They use the admin API, for admins. Package rules/lifecycle decides about the form of a file, at the manager and for
// --dry-run alike. Records have the keys of [adminapi.ConversionStatus] and of jobs.
package convert
