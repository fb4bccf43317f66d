// Package admin asks the admin API of a manager, for commands and programs.
//
// [Dial] takes the URL of a manager: root://host:1094, or unix:///path of its socket. A [Client] has a part for each subject (Cluster,
// Names, Quota ...), each with the interfaces that the manager's own services have, so a command cannot tell a remote manager from one in
// its own process. A method does one verb: it sends one request and waits for the answer, or calls visit for each part of it. It is never
// repeated by itself. The words of the API are in package adminapi; its server is doors/admin.
//
// [DialFrom] serves clients of other machines: it sends requests through an XRootD session ([Caller]), unless the manager is on this machine.
//
// An error of a call is a *[RemoteError]: the kind, the remedy and the text are the server's, and the trace id finds the call in the logs of
// the manager and the nodes. A server that does not answer is Unavailable. The end of the context ends a call at the client; the verb may have
// been done.
//
// All parts of a client share its connections: at most four idle ones are kept, for a minute.
// A client has no locks and no goroutines but those of net/http, and one for each request that goes through a Caller, which ends with it.
package admin
