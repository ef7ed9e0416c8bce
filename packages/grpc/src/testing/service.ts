/** Methods whose messages are texts, and a dispatcher whose handlers the test gives. */
import type { Dispatcher, IncomingMessage } from '@elysia-microservices/transport/kit'
import { PatternNotFoundError } from '@elysia-microservices/transport/kit'
import type { GrpcMethod, GrpcMethods, MessageCodec } from '../methods.ts'

/** A codec of texts. The text `wrong` can be neither written nor read. */
export const TEXTS: MessageCodec = {
  encode(value) {
    if (value === 'wrong') throw new Error('data: a text other than wrong was expected')
    return Buffer.from(String(value ?? ''))
  },
  decode(bytes) {
    const text = Buffer.from(bytes).toString()
    if (text === 'wrong') throw new Error('data: a text other than wrong was expected')
    return text
  }
}

/** The four kinds of methods: `test.Kinds/Unary`, `Down`, `Up`, `Both`; and `Event`. */
export const METHODS: GrpcMethods = {
  method: (path) =>
    ['Unary', 'Down', 'Up', 'Both', 'Event'].map(methodOf).find((method) => method.path === path)
}

function methodOf(name: string): GrpcMethod {
  return {
    path: `test.Kinds/${name}`,
    pattern: `test.Kinds/${name}`,
    kind: name === 'Event' ? 'event' : 'message',
    clientStreams: name === 'Up' || name === 'Both',
    serverStreams: name === 'Down' || name === 'Both',
    input: TEXTS,
    output: TEXTS
  }
}

/** Calls the handler of a pattern's last word. */
export function dispatcherOf(
  handlers: Readonly<Record<string, (message: IncomingMessage) => unknown>>
): Dispatcher {
  const handle = (message: IncomingMessage) => {
    const handler = handlers[message.pattern.split('/')[1] as string]
    if (handler === undefined) throw PatternNotFoundError.of(message.pattern)
    return handler(message)
  }
  return {
    routes: () => [],
    request: handle,
    event: (message) => handle(message) as void | Promise<void>
  }
}
