package interop;

import com.fasterxml.jackson.databind.JsonNode;
import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.RSocketErrorException;
import io.rsocket.exceptions.ApplicationErrorException;
import io.rsocket.exceptions.CanceledException;
import io.rsocket.exceptions.InvalidException;
import io.rsocket.exceptions.RejectedException;
import io.rsocket.util.DefaultPayload;
import java.util.function.Consumer;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/** One stream: tells what the library says of it, and sends what commands say. */
final class Stream {
  private static final int APPLICATION_ERROR = 0x201;

  private final String key;
  private Subscriber<? super Payload> output;
  private MonoSink<Payload> answer;
  private Subscription input;

  Stream(String key) {
    this.key = key;
  }

  /** The code of the ERROR frame that an exception came in, or is sent as. */
  static int codeOf(Throwable error) {
    return error instanceof RSocketErrorException known ? known.errorCode() : APPLICATION_ERROR;
  }

  private static RSocketErrorException errorOf(JsonNode command) {
    String message = command.get("message").asText();
    return switch (command.get("code").asInt()) {
      case 0x202 -> new RejectedException(message);
      case 0x203 -> new CanceledException(message);
      case 0x204 -> new InvalidException(message);
      default -> new ApplicationErrorException(message);
    };
  }

  void open(RSocket rsocket, JsonNode command) {
    Payload payload = DefaultPayload.create(Metadata.bytes(command, "data"), Metadata.ofRequest(command));
    int n = command.get("n").asInt();
    switch (command.get("kind").asText()) {
      case "response" -> rsocket.requestResponse(payload).subscribe(teller(Integer.MAX_VALUE));
      case "stream" -> rsocket.requestStream(payload).subscribe(teller(n));
      case "channel" -> {
        Publisher<Payload> source = command.get("complete").asBoolean() ? Flux.just(payload) : sourceWith(payload);
        rsocket.requestChannel(source).subscribe(teller(n));
      }
      default -> rsocket.fireAndForget(payload).subscribe(
          nothing -> {}, this::tellError, () -> Peer.say("complete", key));
    }
  }

  void obey(JsonNode command) {
    switch (command.get("do").asText()) {
      case "next" -> {
        Payload payload = DefaultPayload.create(Metadata.bytes(command, "data"));
        if (answer != null) {
          answer.success(payload);
          return;
        }
        output.onNext(payload);
        if (command.get("complete").asBoolean()) output.onComplete();
      }
      case "complete" -> {
        if (answer != null) answer.success();
        else output.onComplete();
      }
      case "error" -> {
        if (answer != null) answer.error(errorOf(command));
        else output.onError(errorOf(command));
      }
      case "request" -> input.request(command.get("n").asInt());
      case "cancel" -> input.cancel();
      default -> throw new IllegalArgumentException("Unknown command: " + command);
    }
  }

  /** The one answer of a request; {@code ready} is run when it can be given. */
  Mono<Payload> answer(Runnable ready) {
    return Mono.create(sink -> {
      answer = sink;
      sink.onCancel(() -> Peer.say("cancel", key));
      ready.run();
    });
  }

  /** What this side sends. */
  Publisher<Payload> source() {
    return sourceWith(null);
  }

  private Publisher<Payload> sourceWith(Payload first) {
    return subscriber -> {
      output = subscriber;
      subscriber.onSubscribe(new Subscription() {
        private boolean opened = first == null;

        @Override
        public void request(long n) {
          long more = opened ? n : n - 1;
          if (!opened) {
            opened = true;
            subscriber.onNext(first);
          }
          if (more > 0) Peer.say("request", key, "n", Math.min(more, Integer.MAX_VALUE));
        }

        @Override
        public void cancel() {
          Peer.say("cancel", key);
        }
      });
    };
  }

  /** Tells what comes; asks for {@code n} values at first. */
  BaseSubscriber<Payload> teller(long n) {
    return teller(n, this::tellNext);
  }

  /** The same, with another way to tell the first value. */
  BaseSubscriber<Payload> teller(long n, Consumer<Payload> tellFirst) {
    return new BaseSubscriber<>() {
      private Consumer<Payload> tell = tellFirst;

      @Override
      protected void hookOnSubscribe(Subscription subscription) {
        input = subscription;
        subscription.request(n);
      }

      @Override
      protected void hookOnNext(Payload payload) {
        tell.accept(payload);
        tell = Stream.this::tellNext;
      }

      @Override
      protected void hookOnComplete() {
        Peer.say("complete", key);
      }

      @Override
      protected void hookOnError(Throwable error) {
        tellError(error);
      }
    };
  }

  void tellNext(Payload payload) {
    Peer.say("next", key, "data", Metadata.base64(payload.data()));
  }

  private void tellError(Throwable error) {
    Peer.say("error", key, "code", codeOf(error), "message", String.valueOf(error.getMessage()));
  }
}
