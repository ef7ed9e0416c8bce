// Both ends of connect-go, over HTTP/2 without TLS for gRPC, over HTTP/1.1 for the other protocols.
package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type text = wrapperspb.StringValue
type client = connect.Client[text, text]

type connectCaller struct {
	transport                 *http.Transport
	echoes, downs, ups, boths *client
}

func newConnectCaller(url, protocol string) caller {
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	options := []connect.ClientOption{connect.WithReadMaxBytes(most)}
	if protocol == "grpc" {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
		options = append(options, connect.WithGRPC())
	}
	if protocol == "grpc-web" {
		options = append(options, connect.WithGRPCWeb())
	}
	made := func(name string, more ...connect.ClientOption) *client {
		all := append(more, options...)
		return connect.NewClient[text, text](&http.Client{Transport: transport}, url+"/checks.Checks/"+name, all...)
	}
	// Values of one letter would become so short that all of them were ahead of a slow reader.
	unpacked := connect.WithAcceptCompression("gzip", nil, nil)
	return connectCaller{transport, made("Echo"), made("Down", unpacked), made("Up"), made("Both")}
}

func (c connectCaller) echo(ctx context.Context, value, user string) (string, error) {
	request := connect.NewRequest(wrapperspb.String(value))
	if user != "" {
		request.Header().Set("x-user", user)
	}
	answer, err := c.echoes.CallUnary(ctx, request)
	if err != nil {
		return "", err
	}
	return answer.Msg.Value, nil
}

func (c connectCaller) down(ctx context.Context, value string) (stream, error) {
	s, err := c.downs.CallServerStream(ctx, connect.NewRequest(wrapperspb.String(value)))
	if err != nil {
		return nil, err
	}
	return connectStream{recvs: func() (string, error) {
		if s.Receive() {
			return s.Msg().Value, nil
		}
		if s.Err() != nil {
			return "", s.Err()
		}
		return "", io.EOF
	}}, nil
}

func (c connectCaller) up(ctx context.Context) (stream, error) {
	s := c.ups.CallClientStream(ctx)
	return connectStream{
		sends:  func(value string) error { return s.Send(wrapperspb.String(value)) },
		closes: func() error { return nil },
		recvs: func() (string, error) {
			answer, err := s.CloseAndReceive()
			if err != nil {
				return "", err
			}
			return answer.Msg.Value, nil
		},
	}, nil
}

func (c connectCaller) both(ctx context.Context) (stream, error) {
	s := c.boths.CallBidiStream(ctx)
	return connectStream{
		sends:  func(value string) error { return s.Send(wrapperspb.String(value)) },
		closes: s.CloseRequest,
		recvs: func() (string, error) {
			value, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return "", io.EOF
			}
			if err != nil {
				return "", err
			}
			return value.Value, nil
		},
	}, nil
}

func (c connectCaller) failure(err error) (int, string) {
	var failed *connect.Error
	if errors.As(err, &failed) {
		return int(failed.Code()), failed.Message()
	}
	return int(connect.CodeOf(err)), err.Error()
}

func (c connectCaller) close() { c.transport.CloseIdleConnections() }

type connectStream struct {
	sends  func(value string) error
	closes func() error
	recvs  func() (string, error)
}

func (s connectStream) send(value string) error { return s.sends(value) }
func (s connectStream) closeSend() error        { return s.closes() }
func (s connectStream) recv() (string, error)   { return s.recvs() }

func serveConnect(listener net.Listener) error {
	limit := connect.WithReadMaxBytes(most)
	mux := http.NewServeMux()
	const path = "/checks.Checks/"
	mux.Handle(path+"Echo", connect.NewUnaryHandler(path+"Echo",
		func(ctx context.Context, request *connect.Request[text]) (*connect.Response[text], error) {
			if request.Msg.Value == "fail" {
				return nil, connect.NewError(connect.CodeNotFound,
					errors.New("No order of "+request.Header().Get("x-user")+": ü"))
			}
			answer, err := echoOf(ctx, request.Msg.Value)
			return connect.NewResponse(wrapperspb.String(answer)), err
		}, limit))
	mux.Handle(path+"Down", connect.NewServerStreamHandler(path+"Down",
		func(_ context.Context, request *connect.Request[text], s *connect.ServerStream[text]) error {
			return makeDown(request.Msg.Value, func(value string) error { return s.Send(wrapperspb.String(value)) })
		}, limit, connect.WithCompression("gzip", nil, nil)))
	mux.Handle(path+"Up", connect.NewClientStreamHandler(path+"Up",
		func(_ context.Context, s *connect.ClientStream[text]) (*connect.Response[text], error) {
			answer, err := countUp(func() (string, error) {
				if s.Receive() {
					return s.Msg().Value, nil
				}
				if s.Err() != nil {
					return "", s.Err()
				}
				return "", io.EOF
			})
			return connect.NewResponse(wrapperspb.String(answer)), err
		}, limit))
	mux.Handle(path+"Both", connect.NewBidiStreamHandler(path+"Both",
		func(_ context.Context, s *connect.BidiStream[text, text]) error {
			return answerBoth(func() (string, error) {
				value, err := s.Receive()
				if errors.Is(err, io.EOF) {
					return "", io.EOF
				}
				if err != nil {
					return "", err
				}
				return value.Value, nil
			}, func(value string) error { return s.Send(wrapperspb.String(value)) })
		}, limit))
	server := http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	server.Protocols.SetHTTP1(true)
	return server.Serve(listener)
}
