package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
)

// The linker sets version and commit (-X main.version=…); a build without these flags has the values below.
var (
	// The release, such as 1.2.0.
	version = "devel"
	// The first characters of the commit's hash.
	commit = ""
)

// versionCommand makes `hemera version`. Without --server it needs no cluster. With --server it fails if the manager
// cannot be reached.
func versionCommand(e *cli.Env) *cobra.Command {
	var server bool
	c := &cobra.Command{
		Use: "version", Short: "Version of this program, and with --server of the cluster", Args: cobra.NoArgs, GroupID: "other",
		Example: `  hemera version --server`,
		RunE: func(c *cobra.Command, _ []string) error {
			// Each side has one row, so that a difference is seen at once.
			records := []output.Record{versionRecord("client", buildVersion())}
			if !server {
				return e.Printer().List(versionColumns, records)
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, err := m.About.Version(ctx)
				if err != nil {
					return err
				}
				return e.Printer().List(versionColumns, append(records, versionRecord("server", v)))
			})
		},
	}
	c.Flags().BoolVar(&server, "server", false, "ask the cluster too")
	return c
}

// buildVersion describes this program: the values of the linker, else those that the Go toolchain recorded of the working
// tree. It never fails: an unknown value is empty.
func buildVersion() adminapi.VersionInfo {
	v := adminapi.VersionInfo{Version: version, Commit: commit, Go: runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			// Go records the commit of a build in a checkout; 12 characters identify it.
			if s.Key == "vcs.revision" && commit == "" {
				v.Commit = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

// versionRecord returns a version as a record. part is "client" or "server".
func versionRecord(part string, v adminapi.VersionInfo) output.Record {
	return output.Record{
		{Key: "part", Value: part}, {Key: "version", Value: v.Version}, {Key: "commit", Value: v.Commit},
		{Key: "go", Value: v.Go}, {Key: "arch", Value: v.Arch}, {Key: "role", Value: v.Role},
	}
}

// versionColumns are the table of hemera version.
var versionColumns = []output.Column{
	{Title: "part", Key: "part"},
	{Title: "version", Key: "version"},
	{Title: "commit", Key: "commit"},
	{Title: "go", Key: "go"},
	{Title: "arch", Key: "arch"},
	{Title: "role", Key: "role"},
}
