/** Requests by hand, as curl and clients of other languages send them. */
import { concatBytes } from '@elysia-microservices/transport/kit'
import { EnvelopeFlag, EnvelopeReader, envelope } from '../protocol/envelope.ts'

const utf8 = new TextEncoder()

/** A request with JSON, as with curl. */
export async function postJson(
  url: string,
  method: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
) {
  const response = await fetch(`${url}/shop.v1.Orders/${method}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers }
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text)
  }
}

/** JSON messages in envelopes. */
export function envelopes(...messages: readonly unknown[]): Uint8Array<ArrayBuffer> {
  return concatBytes(messages.map((message) => envelope(0, utf8.encode(JSON.stringify(message)))))
}

/** The messages of an answer in Connect's envelopes, and its end. */
export function messagesIn(body: Uint8Array): {
  messages: unknown[]
  end: { error?: { code: string } } | undefined
} {
  const reader = new EnvelopeReader(2 ** 30)
  reader.push(body)
  const messages: unknown[] = []
  let end: { error?: { code: string } } | undefined
  for (let next = reader.next(); next !== undefined; next = reader.next()) {
    const json = JSON.parse(new TextDecoder().decode(next.data))
    if (next.flags & EnvelopeFlag.END_STREAM) end = json
    else messages.push(json)
  }
  reader.end()
  return { messages, end }
}

/** A stream of Connect with JSON. */
export async function postStream(
  url: string,
  method: string,
  body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>,
  init: RequestInit & { duplex?: 'half' } = {}
) {
  const response = await fetch(`${url}/shop.v1.Orders/${method}`, {
    ...init,
    method: 'POST',
    body,
    headers: { 'content-type': 'application/connect+json', ...init.headers }
  })
  return { response, ...messagesIn(new Uint8Array(await response.arrayBuffer())) }
}
