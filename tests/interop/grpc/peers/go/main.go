// The peers in Go: `serve grpc-go|connect-go` prints its port, and ends with its standard input; `call grpc-go PORT` and
// `call connect-go PORT grpc|grpc-web|connect` do the checks.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	role, library := os.Args[1], os.Args[2]
	if role == "call" {
		address := "127.0.0.1:" + os.Args[3]
		if library == "grpc-go" {
			printChecks(func() caller { return newGrpcCaller(address) })
			return
		}
		protocol := os.Args[4]
		// Values both ways at the same time need HTTP/2.
		leftOut := []string{"ping-pong", "300 KB both ways"}
		if protocol == "grpc" {
			leftOut = nil
		}
		printChecks(func() caller { return newConnectCaller("http://"+address, protocol) }, leftOut...)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if library == "grpc-go" {
		err = serveGrpc(listener)
	} else {
		err = serveConnect(listener)
	}
	panic(err)
}
