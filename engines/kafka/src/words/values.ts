/**
 * The values of records. NestJS writes the data alone into a value, and reads everything that is not an object or a
 * list as text: `5` becomes `'5'`, and there is no null. Between services and clients of this library, a header says
 * how the value is to be read.
 */
import { jsonOf } from '@elysia-microservices/engine'

/** How a value is to be read, between services and clients of this library. */
export type ValueType = 'json' | 'text' | 'null' | undefined

/** A value to be sent. */
export interface Written {
  /** `undefined`: the record has no value. */
  readonly value: string | undefined
  readonly type: ValueType
}

/** The value for data, as NestJS expects it. @param json the data as JSON; `undefined`: there are no data */
export function writeValue(json: string | undefined): Written {
  if (json === undefined) return { value: undefined, type: undefined }
  if (json === 'null') return { value: undefined, type: 'null' }
  if (json.startsWith('"')) return { value: JSON.parse(json) as string, type: 'text' }
  return { value: json, type: 'json' }
}

/** Returns the data as JSON, from the text of a value; `undefined`: there are no data. */
export function readValue(text: string | undefined, type: string | undefined): string | undefined {
  if (text === undefined) return type === 'null' ? 'null' : undefined
  if (type === 'json') return text
  if (type !== 'text' && (text.startsWith('{') || text.startsWith('['))) {
    try {
      jsonOf(text)
      return text
    } catch {
      // The text looks like JSON and is not: it is a text, as for NestJS.
    }
  }
  return JSON.stringify(text)
}

const DATA = ',"data":'
const ID = ',"id":"'

/**
 * Returns the data of a packet, as JSON.
 * @param topic the pattern at the beginning of the packet @param isRequest whether the packet ends with an id
 */
export function dataOf(packet: string, topic: string, isRequest: boolean): string | undefined {
  // The packet begins with `{"pattern":"<topic>"`. Names of topics have no characters that JSON escapes.
  const start = topic.length + 13
  if (!packet.startsWith(DATA, start)) return undefined
  return packet.slice(start + DATA.length, isRequest ? packet.lastIndexOf(ID) : -1)
}

/** Finds the number of a call in the token of a reply address. */
const NUMBER = /\.1[rs](\d+)-/

/**
 * Returns the packet of a message, in the form that other engines carry.
 * @param token the token of the reply address, from which the number of the call is read. `undefined`: the message is
 * an event
 */
export function packetOf(topic: string, json: string | undefined, token: string | undefined): string {
  const head = `{"pattern":"${topic}"${json === undefined ? '' : DATA + json}`
  return token === undefined ? `${head}}` : `${head}${ID}${NUMBER.exec(token)?.[1] ?? '0'}"}`
}

/** The answer to a NestJS client. */
export interface NestAnswer {
  readonly value: string | undefined
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly err: string | undefined
  readonly isDisposed: boolean
}

/** Converts an answer for NestJS clients. As in NestJS, a result with `key` or `value` becomes a whole record. */
export function nestAnswerOf(packet: string): NestAnswer {
  const { response, err, isDisposed } = jsonOf(packet) as {
    readonly response?: unknown
    readonly err?: unknown
    readonly isDisposed?: unknown
  }
  const isMessage =
    typeof response === 'object' && response !== null && ('key' in response || 'value' in response)
  const { key, value, headers } = (isMessage ? response : { value: response }) as {
    readonly key?: unknown
    readonly value?: unknown
    readonly headers?: unknown
  }
  return {
    value: textFor(value),
    key: textFor(key),
    headers: Object.fromEntries(
      Object.entries(Object(headers) as object).map(([name, text]) => [name, textFor(text) ?? ''])
    ),
    err: err === undefined ? undefined : (textFor(err) ?? 'null'),
    isDisposed: isDisposed === true
  }
}

function textFor(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Converts an answer of a NestJS service to the packet that other engines carry. */
export function packetOfNest(
  text: string | undefined,
  err: string | undefined,
  isDisposed: boolean,
  id: string
): string {
  const end = `${isDisposed || err !== undefined ? ',"isDisposed":true' : ''},"id":${JSON.stringify(id)}}`
  if (err !== undefined) return `{"err":${readValue(err, undefined)}${end}`
  return `{"response":${readValue(text, undefined) ?? 'null'}${end}`
}
