package checks;

import com.google.protobuf.StringValue;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.BlockingClientCall;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** One connection of the end that calls. */
final class Caller {
  final ManagedChannel channel;

  Caller(int port) {
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", port)
            .usePlaintext()
            .maxInboundMessageSize(64 << 20)
            .build();
  }

  static CallOptions within(long milliseconds) {
    return CallOptions.DEFAULT.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS);
  }

  String echo(String text) {
    return echo(text, within(60_000));
  }

  String echo(String text, CallOptions options) {
    return ClientCalls.blockingUnaryCall(channel, Methods.ECHO, options, StringValue.of(text)).getValue();
  }

  String echoAs(String user, String text) {
    Metadata headers = new Metadata();
    headers.put(Methods.USER, user);
    Channel named = ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    return ClientCalls.blockingUnaryCall(named, Methods.ECHO, within(60_000), StringValue.of(text)).getValue();
  }

  Future<StringValue> echoLater(String text) {
    ClientCall<StringValue, StringValue> call = channel.newCall(Methods.ECHO, within(60_000));
    return ClientCalls.futureUnaryCall(call, StringValue.of(text));
  }

  BlockingClientCall<StringValue, StringValue> down(String text) {
    return ClientCalls.blockingV2ServerStreamingCall(
        channel, Methods.DOWN, CallOptions.DEFAULT, StringValue.of(text));
  }

  BlockingClientCall<StringValue, StringValue> up() {
    return ClientCalls.blockingClientStreamingCall(channel, Methods.UP, CallOptions.DEFAULT);
  }

  BlockingClientCall<StringValue, StringValue> both() {
    return ClientCalls.blockingBidiStreamingCall(channel, Methods.BOTH, CallOptions.DEFAULT);
  }

  long[] state() {
    String[] parts = echo("state").split(" ");
    return new long[] {Long.parseLong(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2])};
  }

  void close() {
    channel.shutdown();
  }
}
