// Package doctor has the command `hemera doctor`: it measures a machine level by level, names the narrowest level, and finds what is wrong.
//
// Package measure/doctor judges, and measure/doctor/observe measures. Here are the flags, and the tables for people.
//
// The command needs no cluster. If one is named, by --url or the environment, the path to it is part of the picture. One goroutine
// draws the progress line; the line is all that it shares with the others.
package doctor
