package measuring

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hemera/words/errs"
)

// kind is a measurement that nodes run.
type kind struct {
	words    []string       // the command
	flags    []string       // allowed flags, each as --flag=value
	operands *regexp.Regexp // pattern of allowed operands; nil: none
	disks    bool           // the node's disks are the operands
	cluster  bool           // the node's cluster is the operand, if there is no other: its address differs from host to host
	keep     string         // the flag for the place of the result
	leaves   string         // the name of the result in the directory of the run
}

// kinds returns all measurements that nodes run. No flag of them names a file, a device or a program.
func kinds() []kind {
	host := regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.:-]*$`)
	cluster := regexp.MustCompile(`^roots?://[0-9A-Za-z][^?]*$`)
	return []kind{
		{words: []string{"bench", "disk"}, flags: []string{"quick", "loads", "streams", "iterations", "size", "for", "read-ahead"},
			disks: true, keep: "--out", leaves: "result.json"},
		{words: []string{"bench", "net"}, flags: []string{"quick", "protocols", "directions", "streams", "packets", "for", "iterations", "port", "serve"},
			operands: host, keep: "--out", leaves: "result.json"},
		{words: []string{"bench", "io"}, flags: []string{"quick", "load", "layout", "clients", "files", "size", "transfer", "iterations", "elements", "small-files",
			"small-size", "block", "for", "sync", "drop-caches"}, operands: cluster, cluster: true, keep: "--out", leaves: "result.json"},
		{words: []string{"doctor"}, flags: []string{"size", "for"}, keep: "--save", leaves: "snapshot.json"},
	}
}

// Plan returns the arguments for the manager's command, and the file that the run leaves. disks has the node's disks,
// manager is the address of its manager, and dir is for the result. It fails with Denied for a command that is not known
// to be harmless.
func Plan(command, disks []string, manager, dir string) (args []string, leaves string, err error) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool {
		return len(command) >= len(k.words) && slices.Equal(command[:len(k.words)], k.words)
	})
	if i < 0 {
		return nil, "", denied(command, "nodes run bench disk, bench net, bench io and doctor only")
	}
	k, named := all[i], false
	for _, word := range command[len(k.words):] {
		if flag, ok := strings.CutPrefix(word, "--"); ok {
			name, _, _ := strings.Cut(flag, "=")
			if !slices.Contains(k.flags, name) {
				return nil, "", denied(command, "nodes do not take the flag --"+name)
			}
			continue
		}
		if k.operands == nil || !k.operands.MatchString(word) {
			return nil, "", denied(command, "nodes do not take the argument "+word)
		}
		named = true
	}
	args = append(slices.Clone(command), k.keep+"="+keepAt(k, dir))
	if k.cluster && !named {
		args = append(args, "root://"+manager+"//")
	}
	if k.disks {
		args = append(args, disks...)
	}
	return args, filepath.Join(dir, k.leaves), nil
}

// keepAt returns the value of the flag for the result: a directory for bench, a file for doctor.
func keepAt(k kind, dir string) string {
	if k.keep == "--out" {
		return dir
	}
	return filepath.Join(dir, k.leaves)
}

// denied returns the error for a command that is not run.
func denied(command []string, why string) error {
	return errs.New(errs.Denied, "measuring.Plan", strings.Join(command, " "), why).WithRemedy("run it on the machine itself")
}
