/**
 * The methods that both ends of this library have beside those of a `.proto`: the questions for the description of a
 * service. So the command line and the console can ask a service that has no other transport. Data and answer are JSON
 * in a `google.protobuf.StringValue`.
 */
import { DESCRIBE_ROUTE, ProtocolError, routeOf, text } from '@elysia-microservices/transport/kit'
import { patternsOf } from './method-patterns.ts'
import type { GrpcMethod, GrpcMethods, MessageCodec } from './methods.ts'
import { bytesField, readFields } from './wire/protobuf.ts'

const SERVICE = 'elysia_microservices.v1.Service/'
/** The field `value` of a `StringValue`. */
const VALUE = 1

const JSON_TEXT: MessageCodec = {
  encode(value) {
    const json = JSON.stringify(value)
    return json === undefined ? new Uint8Array() : bytesField(VALUE, Buffer.from(json))
  },
  decode(bytes) {
    if (bytes.length === 0) return undefined
    let json: Uint8Array | undefined
    const isMessage = readFields(bytes, (number, value) => {
      if (number === VALUE && typeof value !== 'number') json = value
      return true
    })
    if (!isMessage || json === undefined) throw new ProtocolError('data: a StringValue was expected')
    try {
      return JSON.parse(text.read(json, 0, json.length))
    } catch (error) {
      throw new ProtocolError('data: a StringValue with JSON was expected', error)
    }
  }
}

/** The methods of a server: those of its `.proto`, and the questions for its description. */
export function withDescription(methods: GrpcMethods): GrpcMethods {
  return {
    ...(methods.services && { services: methods.services }),
    ...(methods.descriptors && { descriptors: () => methods.descriptors?.() ?? new Uint8Array() }),
    method(path) {
      const found = methods.method(path)
      if (found !== undefined || !path.startsWith(SERVICE)) return found
      return questionOf(path.slice(SERVICE.length))
    }
  }
}

/**
 * The methods of a client, by the patterns of handlers too, and the questions for a description. A pattern that fits several
 * methods, as services of two packages have the same name, stands for none.
 */
export function byPatterns(methods: GrpcMethods): GrpcMethods {
  const all = (methods.services ?? []).flatMap(({ methods: own = [] }) => own)
  const chosen = new Map(all.map((one) => [one.pattern, one]))
  const others = new Map<string, GrpcMethod | undefined>()
  for (const one of all)
    for (const route of new Set(patternsOf(one).map(routeOf)))
      others.set(route, others.has(route) ? undefined : one)
  return {
    method: (route) => methods.method(route) ?? chosen.get(route) ?? others.get(route) ?? questionOf(route)
  }
}

function questionOf(route: string): GrpcMethod | undefined {
  if (route !== DESCRIBE_ROUTE && !route.startsWith(`${DESCRIBE_ROUTE}.`)) return undefined
  return {
    path: SERVICE + route,
    pattern: route,
    kind: 'message',
    clientStreams: false,
    serverStreams: false,
    input: JSON_TEXT,
    output: JSON_TEXT
  }
}
