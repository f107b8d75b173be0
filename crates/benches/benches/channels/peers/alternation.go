// A goroutine alternates over unbuffered channels, each with a goroutine that writes. The benchmark `channels` fills in
// how many channels there are and a case for each, builds this, and runs it with the number of messages. Prints
// nanoseconds for each message.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

const channels = 0 // CHANNELS

var ends [channels]chan uint64

func take(messages int) {
	for range messages {
		select {
		// CASES
		}
	}
}

func main() {
	messages, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	for i := range ends {
		end := make(chan uint64)
		ends[i] = end
		go func() {
			for {
				end <- 1
			}
		}()
	}
	take(messages / 10)
	start := time.Now()
	take(messages)
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(messages))
}
