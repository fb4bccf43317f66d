package main

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hemera/test/conform"
)

// TestStock runs testdata/stock/*.txt: the commands for files against the stock XRootD server, which has no admin API.
// HEMERA_URL is its root and TREE the directory that it serves.
func TestStock(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/stock", UpdateScripts: *rewrite, RequireUniqueNames: true,
		Setup: func(s *testscript.Env) error {
			url, tree := conform.StockServer(s.T().(testing.TB))
			s.Setenv("HEMERA_URL", strings.TrimRight(url, "/"))
			s.Setenv("TREE", tree)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"hemera": runHemera, "parse": parseOutput},
	})
}
