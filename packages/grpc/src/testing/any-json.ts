/**
 * A method for every pattern, with messages that are any JSON, for tests that run over every transport. A real `.proto` says
 * of each method whether its caller streams, and whether it is an event; here the test does.
 */
import { jsonCodec, text } from '@elysia-microservices/transport/kit'
import type { GrpcMethod, GrpcMethods, MessageCodec } from '../methods.ts'

const SERVICE = 'any.Json/'

/** No bytes are `undefined`. */
const JSON_MESSAGES: MessageCodec = {
  encode: (value) => Buffer.from(jsonCodec.encode(value) as string),
  decode: (bytes) => jsonCodec.decode(bytes, 0, bytes.length)
}

/** The patterns whose methods are not as those of the others: they take one value, and answer with a stream of values. */
export interface AnyJson {
  /** Patterns whose callers send streams. */
  readonly channels?: readonly string[]
  /** Patterns of events. */
  readonly events?: readonly string[]
}

/** Methods for every pattern. */
export function anyJson({ channels = [], events = [] }: AnyJson): GrpcMethods {
  return {
    method(path) {
      const isPath = path.startsWith(SERVICE)
      const pattern = isPath ? Buffer.from(path.slice(SERVICE.length), 'base64url') : Buffer.from(path)
      return methodOf(text.read(pattern, 0, pattern.length), channels, events)
    }
  }
}

function methodOf(pattern: string, channels: readonly string[], events: readonly string[]): GrpcMethod {
  const isEvent = events.includes(pattern)
  return {
    path: SERVICE + Buffer.from(pattern).toString('base64url'),
    pattern,
    kind: isEvent ? 'event' : 'message',
    clientStreams: channels.includes(pattern),
    serverStreams: !isEvent,
    input: JSON_MESSAGES,
    output: JSON_MESSAGES
  }
}
