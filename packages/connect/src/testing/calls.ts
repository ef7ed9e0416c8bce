/** Requests by hand, as curl and clients of other languages send them. */

import { MessageFlag, prefixed } from '@elysia-microservices/protobuf/rpc'
import { concatBytes } from '@elysia-microservices/transport/kit'

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
  return concatBytes(messages.map((message) => prefixed(utf8.encode(JSON.stringify(message)))))
}

/** One message or end of an answer. */
export interface Envelope {
  readonly flags: number
  readonly data: Uint8Array
}

/** The envelopes of a whole answer. */
export function envelopesIn(body: Uint8Array): Envelope[] {
  const found: Envelope[] = []
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + new DataView(body.buffer, body.byteOffset + at).getUint32(1)
    if (!(end <= body.length)) throw new Error('The answer ends within an envelope')
    found.push({ flags: body[at] as number, data: body.subarray(at + 5, end) })
    at = end
  }
  return found
}

/** The messages of an answer in Connect's envelopes, and its end. */
export function messagesIn(body: Uint8Array): {
  messages: unknown[]
  end: { error?: { code: string } } | undefined
} {
  const messages: unknown[] = []
  let end: { error?: { code: string } } | undefined
  for (const { flags, data } of envelopesIn(body)) {
    const json = JSON.parse(new TextDecoder().decode(data))
    if (flags & MessageFlag.END_STREAM) end = json
    else messages.push(json)
  }
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
