// The behaviour of the end that answers.
package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

var told, made, waiting atomic.Int64

// echoOf answers Echo, but "fail".
func echoOf(ctx context.Context, text string) (string, error) {
	switch text {
	case "state":
		return fmt.Sprint(told.Load(), " ", made.Load(), " ", waiting.Load()), nil
	case "wait":
		waiting.Add(1)
		<-ctx.Done()
		waiting.Add(-1)
		told.Add(1)
		return "", ctx.Err()
	}
	return text, nil
}

func makeDown(text string, send func(text string) error) error {
	var n, size int
	if _, err := fmt.Sscan(text, &n, &size); err != nil {
		return err
	}
	letters := strings.Repeat("x", size)
	made.Store(0)
	for at := range n {
		made.Add(1)
		if err := send(fmt.Sprintf("%d:%s", at, letters)); err != nil {
			told.Add(1)
			return err
		}
	}
	return nil
}

func countUp(recv func() (string, error)) (string, error) {
	count, letters := 0, 0
	for {
		text, err := recv()
		if err == io.EOF {
			return fmt.Sprint(count, " ", letters), nil
		}
		if err != nil {
			return "", err
		}
		count++
		letters += len(text)
	}
}

func answerBoth(recv func() (string, error), send func(text string) error) error {
	for {
		text, err := recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = send("<" + text + ">")
		}
		if err != nil {
			return err
		}
	}
}
