// Command hemera is all of Hemera in one program: the servers, and the commands of users and admins. Each command is in a
// file of its own; `hemera --help` explains them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hemera/cmd/hemera/internal/cli"
)

// main runs one command line and exits with its code. An interruption (Ctrl-C, SIGTERM) ends the command's context.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The command has a second to end by itself. After that, a second Ctrl-C kills the program; it does not before,
	// because timeout(1) sends two signals at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	e := cli.ProcessEnv(buildVersion())
	// Deferred functions would not run after os.Exit. Run prints the error itself, so nothing is printed here.
	code := cli.Run(ctx, e, newRootCommand(e), os.Args[1:])
	stop()
	os.Exit(code)
}
