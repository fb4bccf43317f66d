package xrootd_test

import (
	"testing"

	"hemera/test/conform"
)

func TestStockServer(t *testing.T) {
	url, _ := conform.StockServer(t)
	conform.Client(t, url)
}

func TestStockThirdParty(t *testing.T) {
	const program = "ofs.tpc pgm /usr/bin/xrdcp --server"
	from, _ := conform.StockServer(t, program)
	to, _ := conform.StockServer(t, program)
	conform.ClientTPC(t, from, to)
}
