/** Messages as users of NestJS hand them to its Kafka client, in place of data: `{ key, value, headers }`. */
import { type NestMessage, OptionError } from '@elysia-microservices/transport/kit'
import { KEY } from './headers.ts'

const WHOLE = 'In NestJS over Kafka, data with a key or a value are a whole message, { key, value, headers }'
/** The name under which NestJS's users know the library that would take these fields. */
const NOT_SENT: Readonly<Record<string, string>> = {
  partition: 'the key chooses the partition',
  timestamp: 'Kafka gives the time'
}

/**
 * Reads a message of NestJS: as there, an object with `key` or `value`. `undefined`: the value is only data.
 * @throws {OptionError} the message has a field that would not be sent, or bytes that are not a text
 */
export function nestMessageOf(given: unknown): NestMessage | undefined {
  if (typeof given !== 'object' || given === null || !('key' in given || 'value' in given)) return undefined
  const { key, value, headers, ...others } = given as Readonly<Record<string, unknown>>
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new OptionError(
      `data.${other}`,
      `${WHOLE}; data.${other} would not be sent${Object.hasOwn(NOT_SENT, other) ? `: ${NOT_SENT[other]}` : ': put it into value'}`
    )
  const texts = Object.entries(Object(headers) as object).flatMap(([name, one]) =>
    one === undefined || one === null ? [] : [[name, headerText(name, one)]]
  )
  if (key !== undefined && key !== null) texts.push([KEY, textOf('data.key', key)])
  return {
    data: value instanceof Uint8Array ? textOf('data.value', value) : value,
    headers: texts.length === 0 ? undefined : (Object.fromEntries(texts) as Record<string, string>)
  }
}

function headerText(name: string, value: unknown): string {
  return [value]
    .flat()
    .map((one) => textOf(`data.headers.${name}`, one))
    .join(', ')
}

/** A text as NestJS writes it: of a plain object or a list its JSON, else the text that the value itself gives. */
function textOf(path: string, value: unknown): string {
  if (value instanceof Uint8Array) {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(value)
    } catch (cause) {
      throw new OptionError(
        path,
        `${path} has bytes that are not a text in UTF-8; encode them, such as in Base64`,
        cause
      )
    }
  }
  if (typeof value !== 'object' || value === null) return String(value)
  const isPlain = Array.isArray(value) || value.toString === Object.prototype.toString
  return isPlain ? JSON.stringify(value) : String(value)
}
