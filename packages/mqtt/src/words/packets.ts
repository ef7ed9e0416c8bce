/** Nest's packets where they differ by what carries them. */
import { jsonOf } from '@elysia-microservices/transport/engine'

const ID = ',"id":"'

/** Nest's request for one of our calls: with an id that no other client has, since all hear the answers. */
export function withId(packet: string, id: string): string {
  return `${packet.slice(0, packet.lastIndexOf(ID))}${ID}${id}"}`
}

/** A message whose properties ask for no answer: of Nest's clients, or of a device. */
export interface NestMessage {
  readonly words: string
  /** Nest's clients say so by an id; answers go to a topic of their own. */
  readonly isRequest: boolean
}

/** Reads a message of Nest's, or of a device. What is not JSON is the data of an event, as for Nest's own services. */
export function readNest(text: string): NestMessage {
  if (text === '') return { words: text, isRequest: false }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { words: JSON.stringify({ data: text }), isRequest: false }
  }
  const { id, pattern, data } = Object(body) as Record<string, unknown>
  // A device's JSON may have an id of its own.
  return { words: text, isRequest: id !== undefined && (pattern !== undefined || data !== undefined) }
}

/** The id of an answer of Nest's; `undefined`: it has none that could be ours. */
export function idOfAnswer(text: string): string | undefined {
  try {
    const { id } = Object(JSON.parse(text)) as { readonly id?: unknown }
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}

/** The payload that the server retains for an event: empty without data, which has the server forget what it kept. */
export function retained(packet: string): string {
  return (jsonOf(packet) as { readonly data?: unknown }).data === undefined ? '' : packet
}
