/** Encodes the messages of answers. */
import type { MessageCodec } from '@elysia-microservices/protobuf'

const utf8 = new TextEncoder()

/** The bytes of a message. @throws {OptionError} the value does not fit the message */
export function encoded(value: unknown, codec: MessageCodec, isJson: boolean): Uint8Array {
  return isJson ? utf8.encode(JSON.stringify(codec.toJson(value))) : codec.encode(value)
}
