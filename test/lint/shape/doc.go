// Package shape counts what a tree of packages looks like from inside: which files of a package use which, how many methods a type has
// with those that it embeds, and which types and packages are shells.
//
// An arrow runs from file A to file B of one package where A uses a name, a field or a method that B declares. [Arrows] puts the files of a
// package in an order in which few arrows run upwards, as Eades, Lin and Smyth do ("A fast and effective heuristic for the feedback arc set
// problem", 1993): without a circle none does. An arrow that runs up means that a reader of the package has to go back.
//
// A method set is that of the pointer to a type, with methods of embedded fields: a reader of a call meets all of them.
//
// A shell is a struct whose only field is an embedded pointer to a type of its own package: it divides methods and no state.
//
// All functions are pure; they take packages that are type-checked (golang.org/x/tools/go/packages).
package shape
