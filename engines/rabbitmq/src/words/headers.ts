/** The headers of a message, and the records with which users of NestJS set headers. */
import { type CarriedHeaders, type DataRecord, joinedHeaders } from '@elysia-microservices/engine'
import type { MessageHeaders } from '@elysia-microservices/transport/kit'
import type { Properties } from '../driver.ts'

/** The header with the priority of its message, a whole number from 0 to 255, as `RmqRecordBuilder` sets it. */
export const PRIORITY = 'amqp-priority'

/**
 * Headers to which RabbitMQ reacts (further queues), which RabbitMQ writes itself (deaths, deliveries), or which this
 * library writes.
 */
const OWN =
  /^(cc|bcc|x-death|x-first-death-.*|x-last-death-.*|x-delivery-count|x-acquired-count|x-elysia-.*)$/i

/**
 * Converts headers to properties of a message: several values of one name are joined with commas, and the priority is
 * a property of its own.
 */
export function writeHeaders(given: CarriedHeaders | undefined): Pick<Properties, 'headers' | 'priority'> {
  if (given === undefined) return {}
  const { [PRIORITY]: priority, ...headers } = given
  return {
    ...(Object.keys(headers).length > 0 && { headers: joinedHeaders(headers) }),
    ...(priority !== undefined && { priority: Number(priority) })
  }
}

/**
 * The headers of a message as texts, with its priority; numbers and booleans become texts. `undefined`: there are
 * none.
 */
export function readHeaders(given: unknown, priority: unknown): MessageHeaders | undefined {
  const texts: [string, string][] = []
  if (typeof given === 'object' && given !== null)
    for (const [name, value] of Object.entries(given))
      if (isPlain(value) && !OWN.test(name)) texts.push([name, String(value)])
  if (typeof priority === 'number') texts.push([PRIORITY, String(priority)])
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/**
 * Why a header cannot be sent: RabbitMQ would react to it, or cannot carry it. `undefined`: the header can be sent.
 */
export function whyNoHeader(name: string, value: unknown): string | undefined {
  if (OWN.test(name)) return 'belongs to RabbitMQ, and would affect its queues'
  if (Buffer.byteLength(name) > 255) return 'has a name of more than 255 bytes'
  if (name === PRIORITY) {
    const number = Number(value)
    return Number.isInteger(number) && number >= 0 && number < 256
      ? undefined
      : 'is no whole number below 256'
  }
  const values = [value].flat() as string[]
  if (values.some((one) => typeof one === 'string' && /\p{Cs}/u.test(one)))
    return 'has half of a surrogate pair, which UTF-8 cannot write'
  return undefined
}

/** The record that NestJS's `RmqRecordBuilder` builds. */
interface RmqRecord {
  readonly data: unknown
  readonly options?: { readonly headers?: Readonly<Record<string, string>>; readonly priority?: number }
}

/**
 * The data, headers and priority of a NestJS record, which is recognised by the name of its class; `undefined`: the
 * value is not such a record.
 */
export function recordOf(value: unknown): DataRecord | undefined {
  if (typeof value !== 'object' || value === null || value.constructor?.name !== 'RmqRecord') return undefined
  const { data, options } = value as RmqRecord
  const priority = options?.priority === undefined ? {} : { [PRIORITY]: String(options.priority) }
  const headers = { ...options?.headers, ...priority }
  return { data, headers: Object.keys(headers).length === 0 ? undefined : headers }
}
