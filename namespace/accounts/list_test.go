package accounts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/test/fixture/records"
	"hemera/words/hemera"
)

// TestRowsAreInOrder: by path, then projects, users and groups, then ids; those without limits of their own have the default ones.
func TestRowsAreInOrder(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	tr.Limit("/p", hemera.QuotaGroup, 9, hemera.QuotaAmount{Files: 1})
	tr.Put("/p/x", records.File{UID: 3, GID: 7, Size: 4, Disks: []hemera.DiskID{1, 2}})
	tr.Limit("/out", hemera.QuotaGroup, 2, hemera.QuotaAmount{Files: 4})
	rows, err := accounts.List(t.Context(), tr.Engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.TrimSpace(fmt.Sprintln(r.Path, r.Kind, int32(r.ID), r.Limits.Bytes, r.Used.Bytes, r.Default, r.Counting)))
	}
	want := []string{"/out group 2 0 0 false true",
		"/p project 0 100 4 false false", "/p user 1 10 0 false false", "/p user 3 50 4 true false", "/p user -1 50 0 true false", "/p group 7 0 4 true false", "/p group 9 0 0 false false",
		"/p/a project 0 0 0 false false", "/q group 7 0 0 false false"}
	if !slices.Equal(got, want) {
		t.Errorf("rows:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Of named nodes only; one that is gone since is passed over.
	rows, err = accounts.List(t.Context(), tr.Engine, []hemera.FileID{tr.Find("/q").ID, 12345})
	if err != nil || len(rows) != 1 || rows[0].Path != "/q" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestLimitKeysHasUpToALimit of keys, those of one directory alone.
func TestLimitKeysHasUpToALimit(t *testing.T) {
	t.Parallel()
	tr := limited(t)
	for limit, want := range map[int]int{1: 1, 2: 2, 9: 2} {
		keys, err := accounts.LimitKeys(t.Context(), tr.Engine, tr.Find("/p").ID, limit)
		if err != nil || len(keys) != want || keys[0] != schema.UserAccount(1) {
			t.Errorf("%d: %v, %v", limit, keys, err)
		}
	}
}

// TestCheckNamesWhatIsWrong plants damages of all kinds of records.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	set := func(tr *tree, p string) uint64 { return tr.nodes()[p].Set }
	key := func(k []byte) string { return string(k) }
	amount := func(files int64) []byte { return schema.EncodeAmount(&hemera.QuotaAmount{Files: files}) }
	for name, c := range map[string]struct {
		plant func(tr *tree) map[string][]byte
		says  []string
	}{
		"an account too large": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableAccount, set(tr, "/p"), schema.UserAccount(1))): amount(5)}
		}, []string{"user 1 in quota set"}},
		"an account gone": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableAccount, set(tr, "/q"), schema.GroupAccount(7))): nil}
		}, []string{"group 7 in quota set"}},
		"an account of no node": {func(*tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableAccount, 999, schema.GroupAccount(7))): amount(1)}
		}, []string{"group 7 in quota set 999: counted minus stored usage is {Files:-1"}},
		"an account of nobody": {func(*tree) map[string][]byte {
			return map[string][]byte{key(schema.IDKey(schema.TableAccount, 999)) + "x": amount(1)}
		}, []string{"account 6e61"}},
		"a limit of nothing": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableLimit, uint64(tr.Find("/q").ID), schema.GroupAccount(7))): amount(0)}
		}, []string{"limit 6e62"}},
		"a limit too many": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableLimit, uint64(tr.Find("/q").ID), schema.UserAccount(7))): amount(1)}
		}, []string{"2 limits, its record says 1"}},
		"a limit gone": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableLimit, uint64(tr.Find("/q").ID), schema.GroupAccount(7))): nil}
		}, []string{"0 limits, its record says 1"}},
		"a limit of no node": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.AccountKey(schema.TableLimit, uint64(tr.Find("/out").ID), schema.UserAccount(7))): amount(1)}
		}, []string{"1 limits of", "which is no quota node"}},
		"a node gone": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.IDKey(schema.TableQuotaNode, tr.Find("/q").ID)): nil}
		}, []string{"3 directories say that they are quota nodes, 2 have records", "which is no quota node"}},
		"a node that cannot be read": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.IDKey(schema.TableQuotaNode, tr.Find("/q").ID)): []byte("x")}
		}, []string{"quota node 6e71", "3 directories say that they are quota nodes, 2 have records"}},
		"an entry that cannot be read": {func(tr *tree) map[string][]byte {
			return map[string][]byte{key(schema.EntryKey(tr.Find("/q").ID, "f")): []byte("x")}
		}, []string{"quota node " + hemera.FileID(5).String() + ": "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := limited(t)
			tr.Put("/p/x", records.File{UID: 1, GID: 7, Size: 4, Disks: []hemera.DiskID{1}})
			tr.Put("/q/y", records.File{UID: 1, GID: 7, Size: 4, Disks: []hemera.DiskID{1}})
			if bad := tr.problems(); bad != nil {
				t.Fatalf("before: %v", bad)
			}
			tr.Plant(c.plant(tr))
			all := strings.Join(tr.problems(), "\n")
			for _, says := range c.says {
				if !strings.Contains(all, says) {
					t.Errorf("%q is not in\n%s", says, all)
				}
			}
		})
	}
}
