/**
 * Writes the description of a service as an AsyncAPI 3.1 document
 * (https://www.asyncapi.com/docs/reference/specification/v3.1.0).
 */
import type { HandlerDescription, PatternDescription, ServiceDescription } from './description.ts'
import { errorBody } from './error-body.ts'
import type { JsonSchema } from './json-schema.ts'

/** An AsyncAPI document, which can be written as JSON. */
export interface AsyncApiDocument {
  readonly asyncapi: '3.1.0'
  readonly id: string
  readonly info: Readonly<Record<string, unknown>>
  readonly defaultContentType: 'application/json'
  readonly servers: Readonly<Record<string, unknown>>
  readonly channels: Readonly<Record<string, unknown>>
  readonly operations: Readonly<Record<string, unknown>>
}

/** An object that describes itself, such as a service. */
interface Describable {
  describe(): ServiceDescription
}

/**
 * The AsyncAPI document of a service, or of the description that a service has sent. Each pattern is a channel, and
 * each handler is an operation with the action `receive`; a request has a reply, and `x-streams` says which parts are
 * streams. AsyncAPI addresses are texts, so
 * channels of RegExps and object patterns have no address, and their title is the pattern.
 */
export function asyncApi(service: Describable | ServiceDescription): AsyncApiDocument {
  const described = 'describe' in service ? service.describe() : service
  const { name = 'service', version = '0.0.0', transports, handlers } = described
  const ids = new Ids()
  const channels: Record<string, unknown> = {}
  const operations: Record<string, unknown> = {}
  for (const handler of handlers) {
    for (const pattern of handler.patterns) {
      const id = ids.of(pattern.pattern)
      channels[id] = channelOf(handler, pattern)
      operations[id] = operationOf(handler, id)
    }
  }
  return {
    asyncapi: '3.1.0',
    id: `urn:service:${encodeURIComponent(name)}`,
    info: { title: name, version, description: `The messages of ${name}` },
    defaultContentType: 'application/json',
    servers: Object.fromEntries(
      transports.flatMap(({ transport, address }) => {
        if (address === undefined) return []
        const host =
          address.path ?? `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
        return [[ids.of(`server ${transport}`), { host, protocol: transport }]]
      })
    ),
    channels,
    operations
  }
}

function channelOf(
  { kind, data, headers, response, errors }: HandlerDescription,
  { kind: form, pattern }: PatternDescription
) {
  const isAddress = form !== 'regexp' && !/[{}]/.test(pattern)
  const wildcards: string[] = []
  const address = pattern
    .split('.')
    .map((part) => {
      if (part !== '*' && part !== '>') return part
      const name = part === '>' ? 'rest' : `part${wildcards.length + 1}`
      wildcards.push(name)
      return `{${name}}`
    })
    .join('.')
  return {
    address: isAddress ? address : null,
    title: pattern,
    ...(isAddress &&
      wildcards.length > 0 && {
        parameters: Object.fromEntries(
          wildcards.map((name) => [
            name,
            {
              description: name === 'rest' ? 'One part or more, with dots between' : 'One part, without dots'
            }
          ])
        )
      }),
    messages: {
      [kind === 'event' ? 'event' : 'request']: messageOf(data, headers),
      ...(kind === 'message' && { answer: messageOf(response, undefined) }),
      ...errorMessages(errors)
    }
  }
}

function messageOf(payload: JsonSchema | undefined, headers: JsonSchema | undefined) {
  return {
    contentType: 'application/json',
    payload: withoutReferences(payload ?? {}),
    // AsyncAPI requires `type: 'object'` for headers, and schemas of other libraries may leave the type out.
    ...(headers && { headers: { type: 'object', ...(withoutReferences(headers) as object) } })
  }
}

/**
 * The messages of a contract's errors, by the name of the message. A code may have any characters, but the name of
 * a message may not.
 */
function errorMessages(errors: HandlerDescription['errors'] = {}): Record<string, object> {
  const ids = new Ids()
  return Object.fromEntries(
    Object.entries(errors).map(([code, error]) => [
      ids.of(`error ${code}`),
      messageOf(errorBody(code, error), undefined)
    ])
  )
}

function operationOf({ kind, errors, streams }: HandlerDescription, id: string) {
  const channel = `#/channels/${id}`
  const messages = (...names: string[]) => names.map((name) => ({ $ref: `${channel}/messages/${name}` }))
  return {
    action: 'receive',
    channel: { $ref: channel },
    messages: messages(kind === 'event' ? 'event' : 'request'),
    ...(kind === 'message' && {
      reply: {
        channel: { $ref: channel },
        messages: messages('answer', ...Object.keys(errorMessages(errors)))
      }
    }),
    // AsyncAPI has no word for a stream that belongs to one request.
    ...(streams && { 'x-streams': streams })
  }
}

/**
 * Replaces references by schemas that allow anything. A reference in a schema is relative to the schema, but
 * AsyncAPI reads it relative to the document.
 */
function withoutReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutReferences)
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node) return {}
  const kept = Object.entries(node).filter(
    ([key]) => !['definitions', '$defs', '$schema', '$id'].includes(key)
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutReferences(value)]))
}

/** Makes unique names of letters, digits, dashes and underscores. */
class Ids {
  readonly #used = new Set<string>()

  of(text: string): string {
    const base = text.replace(/[^a-zA-Z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'pattern'
    let id = base
    for (let n = 2; this.#used.has(id); n++) id = `${base}-${n}`
    this.#used.add(id)
    return id
  }
}
