package checks;

import com.google.protobuf.StringValue;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Contexts;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicLong;

/** The end that answers. */
final class Server {
  private static final Context.Key<String> USER = Context.key("user");
  private final AtomicLong told = new AtomicLong();
  private final AtomicLong made = new AtomicLong();
  private final AtomicLong waiting = new AtomicLong();

  static void serve() throws Exception {
    Server answers = new Server();
    ServerServiceDefinition service =
        ServerServiceDefinition.builder("checks.Checks")
            .addMethod(Methods.ECHO, ServerCalls.asyncUnaryCall(answers::echo))
            .addMethod(Methods.DOWN, ServerCalls.asyncServerStreamingCall(answers::down))
            .addMethod(Methods.UP, ServerCalls.asyncClientStreamingCall(answers::up))
            .addMethod(Methods.BOTH, ServerCalls.asyncBidiStreamingCall(answers::both))
            .build();
    io.grpc.Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
            .maxInboundMessageSize(64 << 20)
            .addService(ServerInterceptors.intercept(service, new User()))
            .build()
            .start();
    System.out.println("{\"port\":" + server.getPort() + "}");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  /** Gives handlers the metadata x-user. */
  private static final class User implements ServerInterceptor {
    @Override
    public <A, B> ServerCall.Listener<A> interceptCall(
        ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
      Context context = Context.current().withValue(USER, headers.get(Methods.USER));
      return Contexts.interceptCall(context, call, headers, next);
    }
  }

  private static StringValue text(String value) {
    return StringValue.of(value);
  }

  private void echo(StringValue request, StreamObserver<StringValue> observer) {
    ServerCallStreamObserver<StringValue> answer = (ServerCallStreamObserver<StringValue>) observer;
    String given = request.getValue();
    if (given.equals("fail")) {
      answer.onError(
          Status.NOT_FOUND.withDescription("No order of " + USER.get() + ": ü").asRuntimeException());
      return;
    }
    if (given.equals("wait")) {
      waiting.incrementAndGet();
      answer.setOnCancelHandler(
          () -> {
            waiting.decrementAndGet();
            told.incrementAndGet();
          });
      return;
    }
    answer.onNext(given.equals("state") ? text(told + " " + made + " " + waiting) : request);
    answer.onCompleted();
  }

  private void down(StringValue request, StreamObserver<StringValue> observer) {
    ServerCallStreamObserver<StringValue> answer = (ServerCallStreamObserver<StringValue>) observer;
    String[] parts = request.getValue().split(" ");
    int count = Integer.parseInt(parts[0]);
    String letters = "x".repeat(Integer.parseInt(parts[1]));
    made.set(0);
    answer.setOnCancelHandler(told::incrementAndGet);
    answer.setOnReadyHandler(
        () -> {
          while (answer.isReady() && made.get() < count)
            answer.onNext(text((made.getAndIncrement()) + ":" + letters));
          if (made.get() == count) {
            made.incrementAndGet();
            answer.onCompleted();
          }
        });
  }

  private StreamObserver<StringValue> up(StreamObserver<StringValue> answer) {
    return new Reading(answer) {
      private long count;
      private long letters;

      @Override
      public void onNext(StringValue value) {
        count++;
        letters += value.getValue().length();
      }

      @Override
      public void onCompleted() {
        answer.onNext(text(count + " " + letters));
        answer.onCompleted();
      }
    };
  }

  private StreamObserver<StringValue> both(StreamObserver<StringValue> answer) {
    return new Reading(answer) {
      @Override
      public void onNext(StringValue value) {
        answer.onNext(text("<" + value.getValue() + ">"));
      }

      @Override
      public void onCompleted() {
        answer.onCompleted();
      }
    };
  }

  private abstract static class Reading implements StreamObserver<StringValue> {
    final StreamObserver<StringValue> answer;

    Reading(StreamObserver<StringValue> answer) {
      this.answer = answer;
    }

    @Override
    public void onError(Throwable error) {}
  }
}
