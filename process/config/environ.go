package config

import (
	"slices"
	"strings"

	"hemera/words/errs"
)

// envPrefix begins the variable of every setting.
const envPrefix = "HEMERA_"

// URLVariable names the cluster that commands use.
const URLVariable = envPrefix + "URL"

// Strangers returns the variables of an environment ("NAME=value") that look like settings but are not: one error each,
// with the setting that was probably meant. They are for warnings: unlike a file or the flags, an environment also has
// variables of other programs. It does not look at values.
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
		// It may be a variable of another version, so this is a warning only.
		remedy := "remove it; hemera config example lists all settings"
		if meant := nearest(name, known, envPrefix); meant != "" {
			remedy = "did you mean " + meant + "?"
		}
		list = append(list, errs.New(errs.Invalid, "config.Load", name, "is not the variable of a setting and does nothing").WithRemedy(remedy))
	}
	return list
}

// nearest returns the known word that was probably meant, or ""; all begin with the prefix. The distance must be smaller
// than a third of the word plus two: a single typing error is always found, and words with little in common are not
// offered.
func nearest(word string, known []string, prefix string) string {
	best, distance := "", len(word[len(prefix):])/3+2
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}
