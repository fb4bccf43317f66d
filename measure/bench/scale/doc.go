// Package scale measures a manager whose namespace grows: trees are loaded into one store, one after
// the other, and after each the manager is started in a process of its own with the smallest cache
// there is, and asked.
package scale
