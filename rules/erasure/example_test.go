package erasure_test

import (
	"fmt"
	"log"

	"hemera/rules/erasure"
)

// A row of a file of four data and two parity pieces loses two pieces, which are rebuilt.
func ExampleReedSolomon() {
	code, err := erasure.ReedSolomon(4, 2)
	if err != nil {
		log.Fatal(err)
	}
	blocks := [][]byte{[]byte("muon"), []byte("pion"), []byte("kaon"), []byte("tauo"), make([]byte, 4), make([]byte, 4)}
	if err := code.Encode(blocks); err != nil {
		log.Fatal(err)
	}
	blocks[1], blocks[2] = nil, nil
	if err := code.Rebuild(blocks, erasure.SetOf(1, 2)); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s\n", blocks[1], blocks[2])
	// Output: pion kaon
}

// A lost piece of a locally repairable code needs its group only. After a second loss in the group, it needs as many
// pieces as there are data pieces.
func ExampleCode_Sources() {
	code, err := erasure.Local(12, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	all := erasure.Range(0, code.Pieces())
	for _, lost := range []erasure.Set{erasure.SetOf(3), erasure.SetOf(3, 4)} {
		read, ok := code.Sources(3, all&^lost)
		fmt.Println(read, ok)
	}
	// Output:
	// {0 1 2 4 5 12} true
	// {0 1 2 5 6 7 8 9 10 11 12 14} true
}

// One plan rebuilds all rows of a file. It names the pieces to read.
func ExampleCode_Plan() {
	code, err := erasure.ReedSolomon(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := code.Plan(erasure.SetOf(0), erasure.SetOf(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	lost := make([]byte, 0, 3) // each row is rebuilt into the same memory
	for _, row := range [][2]string{{"abc", "   "}, {"xyz", "   "}} {
		blocks := [][]byte{lost, []byte(row[0]), []byte(row[1])}
		if err := plan.Rebuild(blocks); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s\n", plan.Read(), blocks[0])
	}
	// Output:
	// {1 2} ABC
	// {1 2} XYZ
}
