/** The parts of NestJS's packets that are special to MQTT. */
import { jsonOf } from '@elysia-microservices/engine'

const ID = ',"id":"'

/** A request for NestJS services, with an id that no other client uses: all clients receive the answers. */
export function withId(packet: string, id: string): string {
  return `${packet.slice(0, packet.lastIndexOf(ID))}${ID}${id}"}`
}

/** A message without a response topic, from a NestJS client or a device. */
export interface NestMessage {
  readonly words: string
  /**
   * Whether the message is a request: requests of NestJS clients have an id, and are answered on a topic of their
   * own.
   */
  readonly isRequest: boolean
}

/**
 * Reads a message of a NestJS client or of a device. A text that is not JSON is the data of an event, as for NestJS
 * services.
 */
export function readNest(text: string): NestMessage {
  if (text === '') return { words: text, isRequest: false }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { words: JSON.stringify({ data: text }), isRequest: false }
  }
  const { id, pattern, data } = Object(body) as Record<string, unknown>
  // The JSON of a device may have an id that means something else.
  return { words: text, isRequest: id !== undefined && (pattern !== undefined || data !== undefined) }
}

/** The id in an answer of a NestJS service; `undefined`: the answer has no id that this library could have given. */
export function idOfAnswer(text: string): string | undefined {
  try {
    const { id } = Object(JSON.parse(text)) as { readonly id?: unknown }
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}

/**
 * The payload of a retained event. Without data the payload is empty, with which the server deletes the event that it
 * kept.
 */
export function retained(packet: string): string {
  return (jsonOf(packet) as { readonly data?: unknown }).data === undefined ? '' : packet
}
