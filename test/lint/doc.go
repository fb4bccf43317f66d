// Package lint holds the rules of the source tree as tests. Run it with
//
//	go test ./test/lint
//
// A failure names the file, the rule and the reason for the rule. Fix the code, not the rule: a limit here is a ceiling
// that the tree reached without effort, and a finding is nearly always a sign of something else.
//
// # Rules
//
//	Imports             a package imports lower layers only (layers.go is the map)
//	Sizes               lines of files and functions, number of parameters
//	Interfaces          methods of an interface, with those that it embeds
//	Docs                doc comments of packages and exported names
//	Comments            length of the doc comment of a large package
//	Words, English      names that say nothing, init, paths of one machine; words that readers stop at
//	Sentences           functions have a verb, names a noun
//	NamedFiles          files that comments name exist
//	Contracts           shared interfaces say on what they fail, what blocks, what is durable
//	Turns               no lock is made of a channel
//	Errors              operations of errors, keys of log lines
//	Addresses           host and port are put together by net.JoinHostPort alone
//	Goroutines          packages whose tests run without the race detector start none
//	locks.Check         no mutex is held over a device, a tape, a network, the store or a turn (waiting.go is the list)
//	Modules, Skips      a reason in docs/DECISIONS.md for each module and each check left out
//	References, Lines, Paragraphs, Prose, Pictures    documents
//
// # How a rule is made
//
// A rule is a pure function from the parsed files, or from the text of a document, to findings: one line each, sorted,
// with the place in front. It reads no configuration. Where the tree needs an exception, the rule says it in its code,
// with the reason.
//
// Each rule has cases in TestRulesCanFail or TestDocumentRulesCanFail that it must find, and cases that it must not: a
// rule that finds nothing looks the same as a rule that is broken.
package lint
