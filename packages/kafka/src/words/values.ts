/**
 * Values of records. Nest's ends put the data alone into a value, and read what is no object or list as a text: `5` is
 * `'5'` for them, and nothing is null. Between our own ends a header says what it is.
 */
import { jsonOf } from '@elysia-microservices/transport/engine'

/** The type of a value, between our own ends. */
export type ValueType = 'json' | 'text' | 'null' | undefined

/** A value on its way out. */
export interface Written {
  /** `undefined`: the record has none. */
  readonly value: string | undefined
  readonly type: ValueType
}

/** The value for data as JSON, as Nest's ends want it. @param json `undefined`: there are none */
export function writeValue(json: string | undefined): Written {
  if (json === undefined) return { value: undefined, type: undefined }
  if (json === 'null') return { value: undefined, type: 'null' }
  if (json.startsWith('"')) return { value: JSON.parse(json) as string, type: 'text' }
  return { value: json, type: 'json' }
}

/** Data as JSON, from the text of a value; `undefined`: there are none. */
export function readValue(text: string | undefined, type: string | undefined): string | undefined {
  if (text === undefined) return type === 'null' ? 'null' : undefined
  if (type === 'json') return text
  if (type !== 'text' && (text.startsWith('{') || text.startsWith('['))) {
    try {
      jsonOf(text)
      return text
    } catch {
      // A text that looks like JSON, as for Nest.
    }
  }
  return JSON.stringify(text)
}

const DATA = ',"data":'
const ID = ',"id":"'

/**
 * The data of a packet, as JSON.
 * @param topic its pattern, which stands in front @param isRequest it ends with an id
 */
export function dataOf(packet: string, topic: string, isRequest: boolean): string | undefined {
  // `{"pattern":"<topic>"`; names of topics have no letters that JSON writes otherwise.
  const start = topic.length + 13
  if (!packet.startsWith(DATA, start)) return undefined
  return packet.slice(start + DATA.length, isRequest ? packet.lastIndexOf(ID) : -1)
}

/** Finds the number of a call in the token of a reply address. */
const NUMBER = /\.1[rs](\d+)-/

/**
 * The packet of a message, as other engines carry it.
 * @param token of its reply address; our callers know by it the number of the call. `undefined`: it is an event
 */
export function packetOf(topic: string, json: string | undefined, token: string | undefined): string {
  const head = `{"pattern":"${topic}"${json === undefined ? '' : DATA + json}`
  return token === undefined ? `${head}}` : `${head}${ID}${NUMBER.exec(token)?.[1] ?? '0'}"}`
}

/** The answer to a Nest client. */
export interface NestAnswer {
  readonly value: string | undefined
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly err: string | undefined
  readonly isDisposed: boolean
}

/** An answer for Nest's callers; a result that has `key` or `value` is a whole message, as in Nest. */
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

/** An answer of Nest's, as the packet that other engines carry. */
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
