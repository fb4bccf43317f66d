package hemera

import "testing"

// TestWatchedViews: a reader that watches hears of each view that replaces the one that it has.
func TestWatchedViews(t *testing.T) {
	var v Views
	if v.Newest() != nil {
		t.Error("a view before the first")
	}
	first, second := &View{Version: 1}, &View{Version: 2}
	v.Publish(first)
	got, replaced := v.Watch()
	select {
	case <-replaced:
		t.Error("it is the newest")
	default:
	}
	v.Publish(second)
	<-replaced
	if now, _ := v.Watch(); got != first || now != second || v.Newest() != second {
		t.Errorf("%v, then %v", got, now)
	}
}
