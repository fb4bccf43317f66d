package orders

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// ask gives an order in the background.
func ask(ctx context.Context, q *Dispatcher, piece hemera.FileID) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := q.Do(ctx, 1, hemera.Order{Kind: hemera.OrderRemove, Piece: hemera.PieceID{File: piece}})
		done <- err
	}()
	synctest.Wait()
	return done
}

func exchange(t *testing.T, q *Dispatcher, results ...hemera.OrderResult) []hemera.Order {
	t.Helper()
	list, err := q.Exchange(t.Context(), 1, results)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOrdersAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		good, bad := ask(t.Context(), q, 1), ask(t.Context(), q, 2)
		list := exchange(t, q)
		if len(list) != 2 || list[0].Piece.File != 1 || list[1].Piece.File != 2 || list[0].ID == list[1].ID {
			t.Fatalf("%+v", list)
		}
		next := exchange(t, q,
			hemera.OrderResult{ID: list[0].ID},
			hemera.OrderResult{ID: list[1].ID, Failed: true, ErrKind: uint8(errs.Corrupt), ErrText: "bad page"},
			hemera.OrderResult{ID: list[0].ID, Failed: true}, // twice
			hemera.OrderResult{ID: 999})
		if len(next) != 0 {
			t.Errorf("%+v", next)
		}
		if err := <-good; err != nil {
			t.Error(err)
		}
		if err := <-bad; !errors.Is(err, errs.Corrupt) {
			t.Error(err)
		}
	})
}

func TestExchangeWaitsForOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		got := make(chan []hemera.Order, 1)
		go func() { list, _ := q.Exchange(t.Context(), 1, nil); got <- list }()
		synctest.Wait()
		start := time.Now()
		done := ask(t.Context(), q, 1)
		list := <-got
		if len(list) != 1 || time.Since(start) != 0 {
			t.Fatalf("%v after %s", list, time.Since(start))
		}
		exchange(t, q, hemera.OrderResult{ID: list[0].ID})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited != ExchangeWait {
			t.Errorf("an exchange without orders took %s", waited)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.Exchange(ctx, 1, nil); !errors.Is(err, errs.Cancelled) {
			t.Error(err)
		}
	})
}

func TestDeadConnectionsTakeNoOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		dead := make(chan []hemera.Order, 2)
		go func() { list, _ := q.Exchange(t.Context(), 1, nil); dead <- list }()
		synctest.Wait()
		live := make(chan []hemera.Order, 1)
		go func() { list, _ := q.Exchange(t.Context(), 1, nil); live <- list }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ask(ctx, q, 1)
		if len(<-dead) != 0 || len(<-live) != 1 {
			t.Error("the connection that was given up took the order")
		}
		go func() { list, _ := q.Exchange(t.Context(), 1, nil); dead <- list }()
		synctest.Wait()
		q.Redeliver(1)
		if len(<-dead) != 0 {
			t.Error("an exchange of the ended lease took the order")
		}
		if len(exchange(t, q)) != 1 {
			t.Error("the order is not redelivered")
		}
	})
}

func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		done := []<-chan error{ask(t.Context(), q, 1), ask(t.Context(), q, 2), ask(t.Context(), q, 3)}
		first := exchange(t, q)
		q.Redeliver(1)
		again := exchange(t, q)
		if len(again) != 3 || again[0].ID != first[0].ID || again[2].ID != first[2].ID {
			t.Fatalf("after registering: %+v, were %+v", again, first)
		}
		if len(exchange(t, q, hemera.OrderResult{ID: again[1].ID})) != 0 {
			t.Error("handed out twice")
		}
		q.Redeliver(1)
		late := exchange(t, q)
		if len(late) != 2 || late[0].ID != first[0].ID || late[1].ID != first[2].ID {
			t.Errorf("after registering again: %+v", late)
		}
		exchange(t, q, hemera.OrderResult{ID: late[0].ID}, hemera.OrderResult{ID: late[1].ID})
		for _, d := range done {
			if err := <-d; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestConversionsAreNotGivenTwice: an earlier process of the node may have committed it, and another would remove its pieces. One that was
// never handed out waits on.
func TestConversionsAreNotGivenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		convert := func() <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := q.Do(t.Context(), 1, hemera.Order{Kind: hemera.OrderConvert})
				done <- err
			}()
			synctest.Wait()
			return done
		}
		sent := convert()
		if len(exchange(t, q)) != 1 {
			t.Fatal("it was not handed out")
		}
		waiting := convert()
		q.Redeliver(1)
		if err := <-sent; !errors.Is(err, errs.Unavailable) {
			t.Error(err)
		}
		list := exchange(t, q)
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		exchange(t, q, hemera.OrderResult{ID: list[0].ID})
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	})
}

func TestOfflineNodesFailTheirOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		sent := ask(t.Context(), q, 1)
		list := exchange(t, q)
		waiting := ask(t.Context(), q, 2)
		q.Fail(1)
		q.Fail(7)
		for _, d := range []<-chan error{sent, waiting} {
			if err := <-d; !errors.Is(err, errs.Unavailable) {
				t.Error(err)
			}
		}
		if late := exchange(t, q, hemera.OrderResult{ID: list[0].ID}); len(late) != 0 {
			t.Errorf("%+v", late)
		}
	})
}

func TestWithdrawnOrdersAreNotHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		ctx, cancel := context.WithCancel(t.Context())
		done := ask(ctx, q, 1)
		cancel()
		if err := <-done; !errors.Is(err, errs.Cancelled) {
			t.Error(err)
		}
		if list := exchange(t, q); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
}

func TestOrdersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		q.limit = handout + 1
		ctx, cancel := context.WithCancel(t.Context())
		for range q.limit {
			go func() { _, _ = q.Do(ctx, 1, hemera.Order{}) }()
		}
		synctest.Wait()
		if _, err := q.Do(ctx, 1, hemera.Order{}); !errors.Is(err, errs.Overloaded) {
			t.Error(err)
		}
		if list := exchange(t, q); len(list) != handout {
			t.Errorf("%d handed out", len(list))
		}
		cancel()
		synctest.Wait()
	})
}

// A caller that does not wait any more for an order has the node stop it.
func TestAnOrderThatIsUnderWayIsCancelled(t *testing.T) {
	q := New()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := q.Do(ctx, 1, hemera.Order{Kind: hemera.OrderVerify, Disk: 7})
		done <- err
	}()
	first, err := q.Exchange(t.Context(), 1, nil)
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	cancel()
	if err := <-done; !errors.Is(err, errs.Cancelled) {
		t.Error(err)
	}
	second, err := q.Exchange(t.Context(), 1, nil)
	if err != nil || len(second) != 1 || second[0].Kind != hemera.OrderCancel || second[0].Cancels != first[0].ID {
		t.Errorf("%+v, %v", second, err)
	}
	if busy := q.Busy(); len(busy) != 0 {
		t.Errorf("the nodes %v have orders", busy)
	}
}

func TestProgressReachesWhoWatches(t *testing.T) {
	q := New()
	told := make(chan int64, 4)
	done := make(chan error, 1)
	go func() {
		_, err := q.Follow(t.Context(), 1, hemera.Order{Kind: hemera.OrderCopy}, func(bytes int64) { told <- bytes })
		done <- err
	}()
	list, err := q.Exchange(t.Context(), 1, nil)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	q.Progress(2, []hemera.CopyState{{Order: list[0].ID, Bytes: 3}}) // another node's
	q.Progress(1, []hemera.CopyState{{Order: 99, Bytes: 4}, {Order: list[0].ID, Bytes: 5}})
	if got := <-told; got != 5 {
		t.Error(got)
	}
	q.settle(1, []hemera.OrderResult{{ID: list[0].ID}})
	if err := <-done; err != nil {
		t.Error(err)
	}
	q.Progress(1, []hemera.CopyState{{Order: list[0].ID, Bytes: 6}})
	if len(told) != 0 {
		t.Error("told after the end")
	}
}

// TestOrdersThatAreUnderWayCountToo: the bound is of all that a node has not answered.
func TestOrdersThatAreUnderWayCountToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		q.limit = 2
		ctx, end := context.WithCancel(t.Context())
		first := ask(ctx, q, 1)
		list := exchange(t, q)
		second := ask(ctx, q, 2)
		if err := <-ask(ctx, q, 3); errs.KindOf(err) != errs.Overloaded {
			t.Errorf("one waits, one is under way: %v", err)
		}
		exchange(t, q, hemera.OrderResult{ID: list[0].ID})
		if err := <-first; err != nil {
			t.Error(err)
		}
		third := ask(ctx, q, 3)
		end()
		if second, third := <-second, <-third; second == nil || third == nil {
			t.Error("orders that nobody answered have succeeded")
		}
	})
}

// TestWhatIsGivenAgainComesBeforeWhatWaits: it is older.
func TestWhatIsGivenAgainComesBeforeWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New()
		ctx, end := context.WithCancel(t.Context())
		for file := range hemera.FileID(3) {
			ask(ctx, q, file+1)
		}
		exchange(t, q)
		for file := range hemera.FileID(2) {
			ask(ctx, q, file+4)
		}
		q.Redeliver(1)
		var got []hemera.FileID
		for _, o := range exchange(t, q) {
			got = append(got, o.Piece.File)
		}
		if !slices.Equal(got, []hemera.FileID{1, 2, 3, 4, 5}) {
			t.Errorf("%v", got)
		}
		end()
		synctest.Wait()
	})
}
