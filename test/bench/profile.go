package bench

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profile takes a CPU profile of a Hemera server while a row runs, and returns what waits for its
// end. It needs rows that last for a second.
// The profile is of one second from the beginning of the row. It costs CPU of the server, so rates of such a run
// are not to be published.
func (o *Options) profile(t *target, w *row) func() error {
	done := make(chan error, 1)
	// Names of rows have characters that file names should not have.
	name := strings.NewReplacer(" ", "-", ",", "", "+", "-").Replace(fmt.Sprintf("%s-x%d%s.pprof", w.name, w.clients, strings.TrimPrefix(t.name, "hemera")))
	go func() {
		done <- fetch("http://"+t.addr+"/debug/pprof/profile?seconds=1", filepath.Join(o.Profiles, name))
	}()
	return func() error { return <-done }
}

// fetch saves a profile of the server.
// It blocks for the second that the server measures.
func fetch(url, name string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, answer.Body); err != nil {
		return err
	}
	return f.Close()
}
