package files

import (
	"strconv"
	"strings"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/errs"
)

// modeChange converts the permission bits of an entry to new ones. dir is set for a directory, on which X depends.
type modeChange func(mode uint32, dir bool) uint32

// parseModeChange parses octal bits, or changes as in chmod(1): u+rw,go-w, a=rX. A change without u, g, o or a is for
// all. It fails with Invalid, as an error of the command line. Set-id and sticky bits can be given in octal only.
func parseModeChange(s string) (modeChange, error) {
	if s != "" && strings.Trim(s, "01234567") == "" {
		bits, err := parseMode(s)
		return func(uint32, bool) uint32 { return bits }, err
	}
	var changes []modeChange // applied from left to right
	for _, clause := range strings.Split(s, ",") {
		at := strings.IndexAny(clause, "+-=") // one operator in a clause
		if at < 0 || strings.Trim(clause[:at], "ugoa") != "" || strings.Trim(clause[at+1:], "rwxX") != "" {
			return nil, cli.Usage(errs.New(errs.Invalid, "hemera.ReadMode", s, "want octal permission bits, or changes of r, w, x and X").
				WithRemedy("for example 0755, or u+rw,go-w"))
		}
		changes = append(changes, clauseOf(clause[:at], clause[at], clause[at+1:]))
	}
	return func(mode uint32, dir bool) uint32 {
		for _, change := range changes {
			mode = change(mode, dir)
		}
		return mode
	}, nil
}

// clauseOf returns one change, of an operator and bits, for the classes in who. Without who it is for all, whatever the
// umask, unlike chmod(1).
func clauseOf(who string, operator byte, bits string) modeChange {
	var whose uint32
	for _, w := range "ugo" {
		if who == "" || strings.ContainsRune(who, w) || strings.Contains(who, "a") {
			whose |= map[rune]uint32{'u': 0o700, 'g': 0o070, 'o': 0o007}[w] // all bits of this class
		}
	}
	return func(mode uint32, dir bool) uint32 {
		var which uint32
		for _, b := range bits {
			switch {
			case b != 'X':
				which |= map[rune]uint32{'r': 0o444, 'w': 0o222, 'x': 0o111}[b]
			case dir || mode&0o111 != 0: // X: execute only where a class has it, or for directories
				which |= 0o111
			}
		}
		switch which &= whose; operator {
		case '+':
			return mode | which
		case '-':
			return mode &^ which
		}
		return mode&^whose | which // =: the bits of this class that are not named are removed
	}
}

// parseMode parses octal permission bits, at most twelve.
func parseMode(s string) (uint32, error) {
	mode, err := strconv.ParseUint(s, 8, 32)
	if err != nil || mode > 0o7777 {
		return 0, cli.Usage(errs.New(errs.Invalid, "hemera.ReadMode", s, "want octal permission bits").WithRemedy("for example 0755"))
	}
	return uint32(mode), nil
}
