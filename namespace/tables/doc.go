// Package tables is typed access to the namespace's records within one transaction: entries, where ids are, and
// what directories keep of everything below them. It knows which records belong together and nothing about who may
// change them; packages namespace and accounts hold those rules.
//
// # Records that belong together
//
//   - An entry is stored under its parent and name, and its id's location says the same the other way round. The
//     root has a key of its own and no location.
//   - Each directory has a record of times and totals beside its entry. The totals count everything below it, so a
//     change adds to those of all directories above: [Txn.Adjust], [Txn.Relist].
//   - A directory also keeps a bound of the depth below it ([Txn.Deepen]), so that a move can be refused that would
//     put directories too deep, without looking at the tree that moves.
//   - What a change did is an event in the store's log, in the same batch: [Txn.Event].
//
// Records are shared with the cache and with other transactions: nobody changes one, a change stores a copy.
package tables
