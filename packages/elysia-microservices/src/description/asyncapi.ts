/** The description of a service as an AsyncAPI 3.1 document (https://www.asyncapi.com/docs/reference/specification/v3.1.0). */
import type { HandlerDescription, PatternDescription, ServiceDescription } from './description.ts'
import { errorBody } from './error-body.ts'
import type { JsonSchema } from './json-schema.ts'

/** An AsyncAPI document: what JSON carries. */
export interface AsyncApiDocument {
  readonly asyncapi: '3.1.0'
  readonly id: string
  readonly info: Readonly<Record<string, unknown>>
  readonly defaultContentType: 'application/json'
  readonly servers: Readonly<Record<string, unknown>>
  readonly channels: Readonly<Record<string, unknown>>
  readonly operations: Readonly<Record<string, unknown>>
}

/** Something that describes itself. */
interface Describable {
  describe(): ServiceDescription
}

/**
 * The AsyncAPI document of a service, or of a description that one has sent. Each pattern is a channel, each handler an
 * operation that receives; a request has a reply. RegExps and object patterns are channels without an address, because
 * AsyncAPI has no word for them: the pattern is the title.
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
    // AsyncAPI wants an object here, and a schema of another library may not say that it is one.
    ...(headers && { headers: { type: 'object', ...(withoutReferences(headers) as object) } })
  }
}

/** The messages of errors by name: a code may have any characters, the name of a message may not. */
function errorMessages(errors: HandlerDescription['errors'] = {}): Record<string, object> {
  const ids = new Ids()
  return Object.fromEntries(
    Object.entries(errors).map(([code, error]) => [
      ids.of(`error ${code}`),
      messageOf(errorBody(code, error), undefined)
    ])
  )
}

function operationOf({ kind, errors }: HandlerDescription, id: string) {
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
    })
  }
}

/** References of a schema are to itself, those of a document to the document: what refers to itself may be anything. */
function withoutReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutReferences)
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node) return {}
  const kept = Object.entries(node).filter(
    ([key]) => !['definitions', '$defs', '$schema', '$id'].includes(key)
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutReferences(value)]))
}

/** Names of letters, digits, dashes and underscores, each once. */
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
