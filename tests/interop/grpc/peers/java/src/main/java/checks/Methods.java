package checks;

import com.google.protobuf.StringValue;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoUtils;

/** The methods of checks.proto. */
final class Methods {
  static final Metadata.Key<String> USER = Metadata.Key.of("x-user", Metadata.ASCII_STRING_MARSHALLER);
  static final MethodDescriptor<StringValue, StringValue> ECHO = method("Echo", MethodType.UNARY);
  static final MethodDescriptor<StringValue, StringValue> DOWN = method("Down", MethodType.SERVER_STREAMING);
  static final MethodDescriptor<StringValue, StringValue> UP = method("Up", MethodType.CLIENT_STREAMING);
  static final MethodDescriptor<StringValue, StringValue> BOTH = method("Both", MethodType.BIDI_STREAMING);

  private Methods() {}

  private static MethodDescriptor<StringValue, StringValue> method(String name, MethodType type) {
    return MethodDescriptor.<StringValue, StringValue>newBuilder()
        .setType(type)
        .setFullMethodName("checks.Checks/" + name)
        .setRequestMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
        .setResponseMarshaller(ProtoUtils.marshaller(StringValue.getDefaultInstance()))
        .build();
  }
}
