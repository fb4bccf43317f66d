package client_test

import (
	"testing"

	"hemera/conform"
)

func TestStockServer(t *testing.T) {
	url, _ := conform.StockServer(t)
	conform.Client(t, url)
}
