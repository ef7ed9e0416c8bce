/** JetStream's answer to a message published to a stream. */
import { textOf, type Words } from '@elysia-microservices/engine'

/** Either the confirmation that a message was stored, or an error. */
export interface PubAck {
  readonly stream?: string
  readonly seq?: number
  readonly duplicate?: boolean
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string }
}

/** Reads JetStream's answer; `undefined`: the message is not an answer of JetStream. */
export function readPubAck(words: Words): PubAck | undefined {
  try {
    const said = Object(JSON.parse(textOf(words))) as PubAck
    return Number.isSafeInteger(said.seq) || said.error !== undefined ? said : undefined
  } catch {
    return undefined
  }
}

/** Whether the body of an answer is JetStream's confirmation that a stream has stored the request. */
export function isStorage(body: unknown): boolean {
  const { stream, seq } = Object(body) as { stream?: unknown; seq?: unknown }
  return typeof stream === 'string' && typeof seq === 'number' && Object.keys(body as object).length <= 4
}
