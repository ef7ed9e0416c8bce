package interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.rsocket.Payload;
import io.rsocket.metadata.AuthMetadataCodec;
import io.rsocket.metadata.CompositeMetadata;
import io.rsocket.metadata.CompositeMetadataCodec;
import io.rsocket.metadata.MimeTypeMetadataCodec;
import io.rsocket.metadata.RoutingMetadata;
import io.rsocket.metadata.TaggingMetadataCodec;
import io.rsocket.metadata.WellKnownAuthType;
import io.rsocket.metadata.WellKnownMimeType;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Composite metadata of commands and of events. */
final class Metadata {
  static final String COMPOSITE = WellKnownMimeType.MESSAGE_RSOCKET_COMPOSITE_METADATA.getString();

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ByteBufAllocator ALLOCATOR = ByteBufAllocator.DEFAULT;

  private Metadata() {}

  static byte[] bytes(JsonNode command, String name) {
    return Base64.getDecoder().decode(command.get(name).asText());
  }

  static String base64(ByteBuf buffer) {
    return Base64.getEncoder().encodeToString(ByteBufUtil.getBytes(buffer));
  }

  static byte[] ofRequest(JsonNode command) {
    CompositeByteBuf metadata = ALLOCATOR.compositeBuffer();
    add(metadata, WellKnownMimeType.MESSAGE_RSOCKET_ROUTING,
        TaggingMetadataCodec.createRoutingMetadata(ALLOCATOR, List.of(command.get("route").asText())).getContent());
    if (command.has("headers")) {
      ByteBuf headers = Unpooled.copiedBuffer(command.get("headers").toString(), StandardCharsets.UTF_8);
      add(metadata, WellKnownMimeType.APPLICATION_JSON, headers);
    }
    addCredentials(metadata, command);
    if (command.has("dataMimeType")) {
      add(metadata, WellKnownMimeType.MESSAGE_RSOCKET_MIMETYPE,
          MimeTypeMetadataCodec.encode(ALLOCATOR, command.get("dataMimeType").asText()));
    }
    return take(metadata);
  }

  static byte[] ofSetup(JsonNode command) {
    CompositeByteBuf metadata = ALLOCATOR.compositeBuffer();
    addCredentials(metadata, command);
    return take(metadata);
  }

  private static byte[] take(ByteBuf buffer) {
    byte[] bytes = ByteBufUtil.getBytes(buffer);
    buffer.release();
    return bytes;
  }

  private static void addCredentials(CompositeByteBuf metadata, JsonNode command) {
    JsonNode credentials = command.get("credentials");
    if (credentials == null) return;
    ByteBuf content = credentials.get("type").asText().equals("simple")
        ? AuthMetadataCodec.encodeSimpleMetadata(
            ALLOCATOR, chars(credentials, "username"), chars(credentials, "password"))
        : AuthMetadataCodec.encodeBearerMetadata(ALLOCATOR, chars(credentials, "token"));
    add(metadata, WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION, content);
  }

  private static char[] chars(JsonNode credentials, String name) {
    return credentials.get(name).asText().toCharArray();
  }

  private static void add(CompositeByteBuf metadata, WellKnownMimeType type, ByteBuf content) {
    CompositeMetadataCodec.encodeAndAddMetadata(metadata, ALLOCATOR, type, content);
  }

  /** Route, headers and credentials, as far as there are. */
  static Map<String, Object> read(Payload payload) {
    Map<String, Object> read = new HashMap<>();
    for (CompositeMetadata.Entry entry : new CompositeMetadata(payload.metadata(), false)) {
      ByteBuf content = entry.getContent();
      WellKnownMimeType type = WellKnownMimeType.fromString(entry.getMimeType());
      switch (type) {
        case MESSAGE_RSOCKET_ROUTING -> read.put("route", new RoutingMetadata(content).iterator().next());
        case MESSAGE_RSOCKET_AUTHENTICATION -> read.put("credentials", readCredentials(content));
        case APPLICATION_JSON -> read.put("headers", readJson(content));
        default -> {}
      }
    }
    return read;
  }

  private static Map<String, String> readCredentials(ByteBuf content) {
    if (AuthMetadataCodec.readWellKnownAuthType(content) == WellKnownAuthType.BEARER) {
      return Map.of("type", "bearer", "token", String.valueOf(AuthMetadataCodec.readBearerTokenAsCharArray(content)));
    }
    String username = AuthMetadataCodec.readUsername(content).toString(StandardCharsets.UTF_8);
    String password = AuthMetadataCodec.readPassword(content).toString(StandardCharsets.UTF_8);
    return Map.of("type", "simple", "username", username, "password", password);
  }

  private static JsonNode readJson(ByteBuf content) {
    try {
      return JSON.readTree(ByteBufUtil.getBytes(content));
    } catch (Exception error) {
      throw new IllegalArgumentException(error);
    }
  }
}
