package checksum_test

import (
	"fmt"
	"log"

	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// Several checksums of one content are made in one pass.
func ExampleMulti() {
	m, err := checksum.NewMulti(hemera.Adler32, hemera.CRC32C)
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range []string{"the first ", "event"} {
		_, _ = m.Write([]byte(part)) // never fails
	}
	for _, sum := range m.Sums() {
		fmt.Println(sum)
	}
	// Output:
	// adler32:2d7e05cc
	// crc32c:0a533ac3
}

// The CRC32C of a file follows from those of its pages, without reading it again.
func ExampleAppender() {
	content := make([]byte, 2*hemera.PageSize+100)
	content[5000] = 1
	sums := make([]uint32, 3)
	checksum.PageSums(content, 0, sums)

	var whole checksum.Appender
	for i, sum := range sums {
		whole.Append(sum, int64(min(hemera.PageSize, len(content)-i*hemera.PageSize)))
	}
	fmt.Println(whole.Sum() == checksum.CRC32C(content))

	content[5000] = 2
	fmt.Println("bad fragment:", checksum.VerifyPages(content, 0, sums))
	// Output:
	// true
	// bad fragment: 1
}
