package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rsocket.ConnectionSetupPayload;
import io.rsocket.RSocket;
import io.rsocket.core.RSocketConnector;
import io.rsocket.core.RSocketServer;
import io.rsocket.core.Resume;
import io.rsocket.exceptions.RejectedSetupException;
import io.rsocket.lease.Lease;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.transport.netty.server.CloseableChannel;
import io.rsocket.transport.netty.server.TcpServerTransport;
import io.rsocket.util.DefaultPayload;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** A peer around rsocket-java; see peer-protocol.ts. */
public final class Peer {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, Disposable> closeables = new ConcurrentHashMap<>();
  private final Map<String, RSocket> connections = new ConcurrentHashMap<>();
  private final Map<String, Sinks.Many<Lease>> leases = new ConcurrentHashMap<>();
  private final Map<String, Stream> streams = new ConcurrentHashMap<>();
  private final AtomicInteger names = new AtomicInteger();

  public static void main(String[] arguments) throws Exception {
    Peer peer = new Peer();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      JsonNode command = JSON.readTree(line);
      try {
        peer.obey(command);
      } catch (RuntimeException error) {
        say("failed", command.get("key").asText(), "message", String.valueOf(error.getMessage()));
      }
    }
    System.exit(0);
  }

  /** Tells an event; {@code what} is names and values in turn. Values that are null are left out. */
  static void say(String on, String key, Object... what) {
    Map<String, Object> event = new HashMap<>(Map.of("on", on, "key", key));
    for (int at = 0; at < what.length; at += 2) {
      if (what[at + 1] != null) event.put((String) what[at], what[at + 1]);
    }
    try {
      byte[] line = (JSON.writeValueAsString(event) + "\n").getBytes(StandardCharsets.UTF_8);
      synchronized (System.out) {
        System.out.write(line, 0, line.length);
        System.out.flush();
      }
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  String newName(String parent) {
    return parent + "." + names.incrementAndGet();
  }

  void add(String key, Stream stream) {
    streams.put(key, stream);
  }

  private void obey(JsonNode command) {
    String key = command.get("key").asText();
    switch (command.get("do").asText()) {
      case "listen" -> listen(key, command);
      case "connect" -> connect(key, command);
      case "close" -> closeables.get(key).dispose();
      case "open" -> {
        Stream stream = new Stream(key);
        streams.put(key, stream);
        stream.open(connections.get(command.get("connection").asText()), command);
      }
      case "push" -> connections.get(key).metadataPush(
          DefaultPayload.create(new byte[0], Metadata.bytes(command, "data"))).subscribe();
      // Of the server: the library asks for leases without saying for which connection.
      case "grant" -> leases.get(key.substring(0, key.lastIndexOf('.'))).tryEmitNext(
          Lease.create(Duration.ofMillis(command.get("timeToLive").asInt()), command.get("requests").asInt()));
      default -> streams.get(key).obey(command);
    }
  }

  private void listen(String key, JsonNode command) {
    RSocketServer server = RSocketServer.create(
        (setup, sending) -> {
          if (command.has("refuse")) {
            return Mono.error(new RejectedSetupException(command.get("refuse").asText()));
          }
          return Mono.just(accept(key, setup, sending));
        });
    if (command.has("fragmentSize")) server.fragment(command.get("fragmentSize").asInt());
    if (command.has("resume")) server.resume(new Resume());
    if (command.has("lease")) {
      Sinks.Many<Lease> sink = Sinks.many().unicast().onBackpressureBuffer();
      leases.put(key, sink);
      server.lease(spec -> spec.sender(sink::asFlux));
    }
    CloseableChannel channel = server.bindNow(TcpServerTransport.create("127.0.0.1", 0));
    closeables.put(key, channel);
    say("listening", key, "port", channel.address().getPort());
  }

  private RSocket accept(String key, ConnectionSetupPayload setup, RSocket sending) {
    String connection = newName(key);
    keep(connection, sending);
    Map<String, Object> metadata = Metadata.read(setup);
    say("accepted", key, "connection", connection, "dataMimeType", setup.dataMimeType(),
        "metadataMimeType", setup.metadataMimeType(), "credentials", metadata.get("credentials"));
    return new Responder(this, connection);
  }

  private void connect(String key, JsonNode command) {
    RSocketConnector connector = RSocketConnector.create()
        .metadataMimeType(Metadata.COMPOSITE)
        .dataMimeType(command.path("dataMimeType").asText("application/json"))
        .keepAlive(
            Duration.ofMillis(command.path("keepaliveInterval").asInt(20_000)),
            Duration.ofMillis(command.path("keepaliveLifetime").asInt(90_000)))
        .acceptor((setup, sending) -> Mono.just(new Responder(this, key)));
    if (command.has("fragmentSize")) connector.fragment(command.get("fragmentSize").asInt());
    if (command.has("lease")) connector.lease(spec -> spec.maxPendingRequests(256));
    if (command.has("resume")) connector.resume(new Resume());
    if (command.has("credentials")) {
      connector.setupPayload(DefaultPayload.create(new byte[0], Metadata.ofSetup(command)));
    }
    connector.connect(TcpClientTransport.create("127.0.0.1", command.get("port").asInt())).subscribe(
        rsocket -> {
          keep(key, rsocket);
          say("connected", key);
        },
        error -> say("failed", key, "message", String.valueOf(error)));
  }

  private void keep(String connection, RSocket rsocket) {
    connections.put(connection, rsocket);
    closeables.put(connection, rsocket);
    rsocket.onClose().subscribe(
        nothing -> {},
        error -> say("closed", connection, "code", Stream.codeOf(error), "message", error.getMessage()),
        () -> say("closed", connection));
  }
}
