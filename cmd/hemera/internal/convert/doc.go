// Package convert has the commands that have files stored in another form: another layout, block size, space or checksum.
// The manager remembers each request and works on it in the background; the commands ask, list and stop.
package convert
