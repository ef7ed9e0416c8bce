package interop;

import io.rsocket.Payload;
import io.rsocket.RSocket;
import java.util.Map;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Answers what the other side of a connection asks: by telling, and doing what is said then. */
final class Responder implements RSocket {
  private final Peer peer;
  private final String connection;

  Responder(Peer peer, String connection) {
    this.peer = peer;
    this.connection = connection;
  }

  @Override
  public Mono<Void> fireAndForget(Payload payload) {
    requested("event", payload, newStream());
    return Mono.empty();
  }

  @Override
  public Mono<Payload> requestResponse(Payload payload) {
    Named named = newStream();
    return named.stream.answer(() -> requested("response", payload, named));
  }

  @Override
  public Flux<Payload> requestStream(Payload payload) {
    Named named = newStream();
    return Flux.from(named.stream.source()).doOnSubscribe(subscription -> requested("stream", payload, named));
  }

  @Override
  public Flux<Payload> requestChannel(Publisher<Payload> payloads) {
    Named named = newStream();
    // The first value comes with the request; those behind it are asked for by commands.
    BaseSubscriber<Payload> teller = named.stream.teller(1, first -> requested("channel", first, named));
    return Flux.from(named.stream.source()).doOnSubscribe(subscription -> payloads.subscribe(teller));
  }

  @Override
  public Mono<Void> metadataPush(Payload payload) {
    Peer.say("pushed", connection, "data", Metadata.base64(payload.metadata()));
    return Mono.empty();
  }

  private record Named(String key, Stream stream) {}

  private Named newStream() {
    String key = peer.newName(connection);
    Stream stream = new Stream(key);
    peer.add(key, stream);
    return new Named(key, stream);
  }

  private void requested(String kind, Payload payload, Named named) {
    Map<String, Object> metadata = Metadata.read(payload);
    Peer.say("requested", connection, "stream", named.key, "kind", kind, "data", Metadata.base64(payload.data()),
        "route", metadata.get("route"), "headers", metadata.get("headers"),
        "credentials", metadata.get("credentials"));
  }
}
