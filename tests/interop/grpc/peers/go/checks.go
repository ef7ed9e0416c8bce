// The fourteen checks, over any client; checks.ts has the same ones for JavaScript.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// stream is one call with values: of its caller, of its answer, or both.
type stream interface {
	send(text string) error
	closeSend() error
	recv() (string, error)
}

// caller is one connection of a client.
type caller interface {
	echo(ctx context.Context, text string, user string) (string, error)
	down(ctx context.Context, text string) (stream, error)
	// up returns a stream whose answer is received once, behind closeSend.
	up(ctx context.Context) (stream, error)
	both(ctx context.Context) (stream, error)
	// failure is the code and the message of a failed call.
	failure(err error) (int, string)
	close()
}

const (
	canceled         = 1
	deadlineExceeded = 4
	notFound         = 5
	ahead            = 1_000
)

type state struct{ told, made, waiting int }

func stateOf(c caller) (now state, err error) {
	text, err := c.echo(context.Background(), "state", "")
	if err == nil {
		_, err = fmt.Sscan(text, &now.told, &now.made, &now.waiting)
	}
	return now, err
}

func until(what string, isSo func() (bool, error)) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is, err := isSo(); is || err != nil {
			return err
		}
	}
	return fmt.Errorf("not within 30 s: %s", what)
}

func isTold(c caller, before state) error {
	return until("the other end is told", func() (bool, error) {
		now, err := stateOf(c)
		return now.told > before.told, err
	})
}

func echoes(c caller, text string) error {
	answer, err := c.echo(context.Background(), text, "")
	if err == nil && answer != text {
		err = fmt.Errorf("another text of %d letters came back than one of %d", len(answer), len(text))
	}
	return err
}

func fails(c caller, err error, code int) error {
	if err == nil {
		return fmt.Errorf("the call did not fail")
	}
	if got, message := c.failure(err); got != code {
		return fmt.Errorf("code %d instead of %d: %s", got, code, message)
	}
	return nil
}

func atOnce(n int, run func(at int) error) error {
	var group sync.WaitGroup
	errs := make([]error, n)
	for at := range n {
		group.Add(1)
		go func() {
			defer group.Done()
			errs[at] = run(at)
		}()
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkValues reads a stream to its end, from value `from` on.
func checkValues(s stream, from, n, size int) error {
	letters := strings.Repeat("x", size)
	for at := from; ; at++ {
		value, err := s.recv()
		if err == io.EOF && at == n {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d values: %w", at, err)
		}
		if value != fmt.Sprintf("%d:%s", at, letters) {
			return fmt.Errorf("value %d is wrong", at)
		}
	}
}

func endsNow(s stream) error {
	if _, err := s.recv(); err != io.EOF {
		return fmt.Errorf("the stream has no end: %v", err)
	}
	return nil
}

type check struct {
	name string
	run  func(c caller, connect func() caller) error
}

var background = context.Background()

var checks = []check{
	{"unary", func(c caller, _ func() caller) error {
		for _, text := range []string{"hello", "ü€😀", ""} {
			if err := echoes(c, text); err != nil {
				return err
			}
		}
		return nil
	}},
	{"3,000 calls by 100 callers", func(c caller, _ func() caller) error {
		return atOnce(100, func(at int) error {
			for n := range 30 {
				if err := echoes(c, fmt.Sprintf("%d.%d", at, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}},
	{"error", func(c caller, _ func() caller) error {
		_, err := c.echo(background, "fail", "me")
		if err := fails(c, err, notFound); err != nil {
			return err
		}
		if _, message := c.failure(err); message != "No order of me: ü" {
			return fmt.Errorf("message %q", message)
		}
		return nil
	}},
	{"20,000 values down", func(c caller, _ func() caller) error {
		s, err := c.down(background, "20000 10")
		if err != nil {
			return err
		}
		return checkValues(s, 0, 20_000, 10)
	}},
	{"20,000 values up", func(c caller, _ func() caller) error {
		s, err := c.up(background)
		if err != nil {
			return err
		}
		for range 20_000 {
			if err := s.send("xxxxxxxxxx"); err != nil {
				return err
			}
		}
		if err := s.closeSend(); err != nil {
			return err
		}
		answer, err := s.recv()
		if err == nil && answer != "20000 200000" {
			err = fmt.Errorf("answer %q", answer)
		}
		return err
	}},
	{"ping-pong", func(c caller, _ func() caller) error {
		s, err := c.both(background)
		if err != nil {
			return err
		}
		for turn := range 500 {
			if err := s.send(fmt.Sprint(turn)); err != nil {
				return err
			}
			if value, err := s.recv(); err != nil || value != fmt.Sprintf("<%d>", turn) {
				return fmt.Errorf("turn %d: %q %v", turn, value, err)
			}
		}
		if err := s.closeSend(); err != nil {
			return err
		}
		return endsNow(s)
	}},
	{"300 KB both ways", func(c caller, _ func() caller) error {
		s, err := c.both(background)
		if err != nil {
			return err
		}
		sent := make(chan error, 1)
		go func() {
			for range 10 {
				if err := s.send(strings.Repeat("x", 300_000)); err != nil {
					sent <- err
					return
				}
			}
			sent <- s.closeSend()
		}()
		for at := range 10 {
			if value, err := s.recv(); err != nil || len(value) != 300_002 {
				return fmt.Errorf("value %d has %d letters: %v", at, len(value), err)
			}
		}
		if err := <-sent; err != nil {
			return err
		}
		return endsNow(s)
	}},
	{"20 MB", func(c caller, _ func() caller) error {
		return echoes(c, strings.Repeat("x", 20_000_000))
	}},
	{"40 x 300 KB at once", func(c caller, _ func() caller) error {
		return atOnce(40, func(at int) error { return echoes(c, strings.Repeat(fmt.Sprint(at%10), 300_000)) })
	}},
	{"deadline, both ends", func(c caller, _ func() caller) error {
		before, err := stateOf(c)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(background, 300*time.Millisecond)
		defer cancel()
		_, err = c.echo(ctx, "wait", "")
		if err := fails(c, err, deadlineExceeded); err != nil {
			return err
		}
		return isTold(c, before)
	}},
	{"cancel", func(c caller, _ func() caller) error {
		before, err := stateOf(c)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := c.echo(ctx, "wait", "")
			failed <- err
		}()
		err = until("the call is there", func() (bool, error) {
			now, err := stateOf(c)
			return now.waiting > before.waiting, err
		})
		if err != nil {
			return err
		}
		cancel()
		if err := fails(c, <-failed, canceled); err != nil {
			return err
		}
		return isTold(c, before)
	}},
	{"cancel of a stream", func(c caller, _ func() caller) error {
		before, err := stateOf(c)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		s, err := c.down(ctx, "1000000 100")
		if err != nil {
			return err
		}
		for range 5 {
			if _, err := s.recv(); err != nil {
				return err
			}
		}
		cancel()
		if err := isTold(c, before); err != nil {
			return err
		}
		now, err := stateOf(c)
		if err == nil && now.made >= 1_000_000 {
			err = fmt.Errorf("all values were made")
		}
		return err
	}},
	{"slow reader", func(c caller, _ func() caller) error {
		s, err := c.down(background, "2000 50000")
		if err != nil {
			return err
		}
		if _, err := s.recv(); err != nil {
			return err
		}
		made := -1
		err = until("the other end stands still", func() (bool, error) {
			before := made
			now, err := stateOf(c)
			made = now.made
			time.Sleep(300 * time.Millisecond)
			return made == before, err
		})
		if err != nil {
			return err
		}
		if made > ahead {
			return fmt.Errorf("%d values of 50 KB were made; one was read", made)
		}
		return checkValues(s, 1, 2_000, 50_000)
	}},
	{"200 connections", func(_ caller, connect func() caller) error {
		callers := make([]caller, 200)
		for at := range callers {
			callers[at] = connect()
		}
		err := atOnce(len(callers), func(at int) error { return echoes(callers[at], fmt.Sprint(at)) })
		for _, one := range callers {
			one.close()
		}
		return err
	}},
}

// printChecks does all checks but those that are left out, and prints a line for each.
func printChecks(connect func() caller, leftOut ...string) {
	c := connect()
	for _, one := range checks {
		if contains(leftOut, one.name) {
			continue
		}
		done := make(chan error, 1)
		go func() { done <- one.run(c, connect) }()
		var err error
		select {
		case err = <-done:
		case <-time.After(60 * time.Second):
			err = fmt.Errorf("not within 60 s")
		}
		line := map[string]string{"check": one.name}
		if err != nil {
			line["error"] = err.Error()[:min(500, len(err.Error()))]
		}
		json.NewEncoder(os.Stdout).Encode(line)
	}
	c.close()
}

func contains(all []string, wanted string) bool {
	for _, one := range all {
		if one == wanted {
			return true
		}
	}
	return false
}
