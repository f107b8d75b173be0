// Programs whose goroutines are on two CPUs, with unbuffered channels: CommsTime, a token that goes round a ring, a pipeline, and
// a merge sort by a tree of goroutines. Takes the name of a program and its numbers. Prints nanoseconds for each message, hop or
// number.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

func number(argument int) int {
	number, err := strconv.Atoi(os.Args[argument])
	if err != nil {
		panic(err)
	}
	return number
}

func printEach(start time.Time, count int) {
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(count))
}

func commsTime(loops int) {
	toDelta, toSuccessor := make(chan uint64), make(chan uint64)
	toPrefix, toConsumer := make(chan uint64), make(chan uint64)
	go func() {
		for value := uint64(0); ; value = <-toPrefix {
			toDelta <- value
		}
	}()
	go func() {
		for value := range toDelta {
			toSuccessor <- value
			toConsumer <- value
		}
	}()
	go func() {
		for value := range toSuccessor {
			toPrefix <- value + 1
		}
	}()
	for range loops / 10 {
		<-toConsumer
	}
	start := time.Now()
	for range loops {
		<-toConsumer
	}
	printEach(start, 4*loops)
}

func token(processes, hops int) {
	rounds := (hops + processes - 1) / processes
	first := make(chan uint64)
	here := first
	for range processes - 1 {
		from, to := here, make(chan uint64)
		go func() {
			for value := range from {
				to <- value + 1
			}
		}()
		here = to
	}
	// The first round begins all of them.
	first <- 0
	<-here
	start := time.Now()
	for range rounds {
		first <- 0
		<-here
	}
	printEach(start, rounds*processes)
}

func pipeline(stages, numbers int) {
	warmUp := numbers / 10
	first := make(chan uint64)
	go func() {
		for value := range uint64(warmUp + numbers) {
			first <- value
		}
		close(first)
	}()
	last := first
	for range stages - 1 {
		from, to := last, make(chan uint64)
		go func() {
			for value := range from {
				to <- value + 1
			}
			close(to)
		}()
		last = to
	}
	for range warmUp {
		<-last
	}
	start := time.Now()
	for range numbers {
		<-last
	}
	printEach(start, stages*numbers)
}

func merge(left, right, to chan uint64) {
	a, hasA := <-left
	b, hasB := <-right
	for hasA || hasB {
		if hasA && (!hasB || a <= b) {
			to <- a
			a, hasA = <-left
		} else {
			to <- b
			b, hasB = <-right
		}
	}
	close(to)
}

func mergeSort(leaves, numbers int) {
	random := uint64(1)
	unsorted := make([]uint64, numbers)
	for i := range unsorted {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		unsorted[i] = random
	}
	start := time.Now()
	var level []chan uint64
	for own := range slices.Chunk(unsorted, numbers/leaves) {
		to := make(chan uint64)
		go func() {
			slices.Sort(own)
			for _, value := range own {
				to <- value
			}
			close(to)
		}()
		level = append(level, to)
	}
	for len(level) > 1 {
		var above []chan uint64
		for pair := range slices.Chunk(level, 2) {
			to := make(chan uint64)
			go merge(pair[0], pair[1], to)
			above = append(above, to)
		}
		level = above
	}
	last := uint64(0)
	for value := range level[0] {
		if value < last {
			panic("the numbers are not sorted")
		}
		last = value
	}
	printEach(start, numbers)
}

func main() {
	switch os.Args[1] {
	case "comms-time":
		commsTime(number(2))
	case "token":
		token(number(2), number(3))
	case "pipeline":
		pipeline(number(2), number(3))
	case "merge-sort":
		mergeSort(number(2), number(3))
	default:
		panic(os.Args[1])
	}
}
