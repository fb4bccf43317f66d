// Package config is every setting of Hemera in one typed struct, [Config].
//
// A setting's value comes from, strongest first: its command-line flag, its environment variable, the
// one TOML file, its default. The struct's tags are the only place where a setting is described: its
// key, default, limits and meaning; flags and their help, the example file and the documentation's
// table are made from them. Each value remembers where it came from, and errors say so.
//
// A setting "repair.grace" is the flag --repair-grace, the variable
// HEMERA_REPAIR_GRACE, and in the file
//
//	[repair]
//	grace = "5m"
package config
