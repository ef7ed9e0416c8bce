// Both ends of grpc-go.
package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const most = 64 << 20

func newText() *wrapperspb.StringValue { return &wrapperspb.StringValue{} }

type grpcCaller struct{ conn *grpc.ClientConn }

func newGrpcCaller(address string) caller {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most)))
	if err != nil {
		panic(err)
	}
	return grpcCaller{conn}
}

func (c grpcCaller) echo(ctx context.Context, text, user string) (string, error) {
	if user != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-user", user)
	}
	answer := newText()
	err := c.conn.Invoke(ctx, "/checks.Checks/Echo", wrapperspb.String(text), answer)
	return answer.Value, err
}

func (c grpcCaller) open(ctx context.Context, name string, up, down bool) (grpcStream, error) {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: up, ServerStreams: down}, "/checks.Checks/"+name)
	return grpcStream{s}, err
}

func (c grpcCaller) down(ctx context.Context, text string) (stream, error) {
	s, err := c.open(ctx, "Down", false, true)
	if err == nil {
		err = s.send(text)
	}
	if err == nil {
		err = s.closeSend()
	}
	return s, err
}

func (c grpcCaller) up(ctx context.Context) (stream, error)   { return c.open(ctx, "Up", true, false) }
func (c grpcCaller) both(ctx context.Context) (stream, error) { return c.open(ctx, "Both", true, true) }
func (c grpcCaller) close()                                   { c.conn.Close() }

func (c grpcCaller) failure(err error) (int, string) {
	s := status.Convert(err)
	return int(s.Code()), s.Message()
}

// messages is what a stream of either end can do.
type messages interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

type grpcStream struct{ grpc.ClientStream }

func (s grpcStream) send(text string) error { return s.SendMsg(wrapperspb.String(text)) }
func (s grpcStream) closeSend() error       { return s.CloseSend() }
func (s grpcStream) recv() (string, error)  { return recvOf(s.ClientStream) }

func recvOf(s messages) (string, error) {
	text := newText()
	err := s.RecvMsg(text)
	return text.Value, err
}

func serveGrpc(listener net.Listener) error {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(most), grpc.MaxSendMsgSize(most))
	echo := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		text := newText()
		if err := decode(text); err != nil {
			return nil, err
		}
		if text.Value == "fail" {
			given, _ := metadata.FromIncomingContext(ctx)
			return nil, status.Errorf(codes.NotFound, "No order of %s: ü", given.Get("x-user")[0])
		}
		answer, err := echoOf(ctx, text.Value)
		return wrapperspb.String(answer), err
	}
	down := func(_ any, s grpc.ServerStream) error {
		text, err := recvOf(s)
		if err != nil {
			return err
		}
		return makeDown(text, func(text string) error { return s.SendMsg(wrapperspb.String(text)) })
	}
	up := func(_ any, s grpc.ServerStream) error {
		answer, err := countUp(func() (string, error) { return recvOf(s) })
		if err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.String(answer))
	}
	both := func(_ any, s grpc.ServerStream) error {
		return answerBoth(func() (string, error) { return recvOf(s) },
			func(text string) error { return s.SendMsg(wrapperspb.String(text)) })
	}
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "checks.Checks",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: echo}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Down", Handler: down, ServerStreams: true},
			{StreamName: "Up", Handler: up, ClientStreams: true},
			{StreamName: "Both", Handler: both, ServerStreams: true, ClientStreams: true},
		},
	}, struct{}{})
	return server.Serve(listener)
}
