// Package admin calls the admin API of a manager, for commands and programs.
//
// [Dial] takes the URL of a manager: root://host:1094, or unix:///path of its socket. A [Client] has a part for each
// subject (Cluster, Names, Quota ...), with the same interfaces as the manager's own services, so a command works with a
// remote manager and with one in its own process. A method calls one verb: it sends one request and waits for the answer,
// or calls visit for each part of it. It never repeats the verb. The messages of the API are in package adminapi; its
// server is doors/admin.
//
// [DialFrom] serves clients on other machines: it sends requests through an XRootD session ([Caller]), unless the manager
// is on this machine.
//
// An error of a call is a *[RemoteError]: the kind, the remedy and the text are the server's, and the trace id identifies
// the call in the logs of the manager and the nodes. If a server does not answer, the kind is Unavailable. The end of the
// context ends a call at the client; the verb may have been carried out.
//
// All parts of a client share its connections: at most four idle ones are kept, for a minute. A client has no locks. Its
// only goroutines are those of net/http, and one for each request through a Caller, which ends with the request.
package admin
