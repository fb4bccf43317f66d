package adminapi

import (
	"time"
)

// Setting is one setting in force and where it came from.
type Setting struct {
	Key    string // as in the file, with dots: repair.grace
	Value  string // as a user would write it; secrets are masked
	Source string // default, file, environment, flag
}

// ConfigChange asks for other settings. The zero value reads the settings of files again.
type ConfigChange struct {
	Set   map[string]string `json:",omitempty"` // values by key, as on a command line
	Unset []string          `json:",omitempty"` // keys whose earlier Set ends
}

// SettingChange is a setting whose value is another one now, or after a restart.
type SettingChange struct {
	Key    string
	Was    string // in force before; with Restart: and still
	Value  string
	Source string // of Value
	// Restart is true if the new value is in force after a restart of the server only.
	Restart bool `json:",omitempty"`
}

// ConfigResult is the result of a change of settings.
type ConfigResult struct{ Changes []SettingChange }

// VersionInfo describes a running program.
type VersionInfo struct {
	Version string    // of the release
	Commit  string    // what it was built of; may be empty
	Go      string    // of the toolchain
	Arch    string    // operating system and processor, as linux/amd64
	Role    string    // up, manager, node
	Started time.Time // when its services were assembled, by its own clock
}
