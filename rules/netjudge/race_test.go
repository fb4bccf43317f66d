//go:build race

package netjudge

const raced = true
