package config

import (
	"slices"
	"strings"

	"hemera/words/errs"
)

// envPrefix begins the variable of every setting.
const envPrefix = "HEMERA_"

// URLVariable names the cluster that commands ask.
const URLVariable = envPrefix + "URL"

// Strangers finds the variables in an environment ("NAME=value") that look like settings and are not: one
// error each, with the setting that was probably meant. They are for a warning: unlike a file or the flags, an
// environment also holds what others put there. Values are not looked at.
func Strangers(environ []string) (list []*errs.Error) {
	known := []string{URLVariable, FileVariable}
	for _, s := range settings() {
		known = append(known, s.env())
	}
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		// A variable of another version is possible, so this is a warning only.
		remedy := "remove it; hemera config example lists all settings"
		if meant := nearest(name, known, envPrefix); meant != "" {
			remedy = "did you mean " + meant + "?"
		}
		list = append(list, errs.New(errs.Invalid, "config.Load", name, "is not the variable of a setting and does nothing").WithRemedy(remedy))
	}
	return list
}

// nearest is the known word that was probably meant, or ""; all begin with the prefix.
// A word was probably meant if fewer letters differ than a third of the word, plus two: a single typing
// error is always found, and words that have little in common are not offered.
func nearest(word string, known []string, prefix string) string {
	best, distance := "", len(word[len(prefix):])/3+2
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}
