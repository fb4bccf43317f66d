// Package config has every setting of Hemera in one typed struct, [Config].
//
// A value comes from, strongest first: the command-line flag, the environment variable, the one TOML file, the default.
// Each value keeps its source, which errors and hemera config show print.
//
// The struct's tags are the only description of a setting: key, default, limits and meaning. Flags with their help, the
// example file and the table in docs/operations.md are made from the tags, so none of them can be out of date.
//
// [Load] reads everything, reports all errors at once, and checks at the end that values fit together (agree.go). Unknown
// keys of the file are errors with a suggestion. An unknown variable HEMERA_… is only a warning, because the environment
// may have been made for another version.
//
// A server that runs has a [Running]: it can read the sources again. `hemera config set` stores its values in a separate
// file, [KeptFile], between the environment and the file.
//
// The package has no other state; a [Loaded] is read-only after Load, except for Note and in a Running.
//
// A setting "repair.grace" is the flag --repair-grace, the variable HEMERA_REPAIR_GRACE, and in the file
//
//	[repair]
//	grace = "5m"
package config
