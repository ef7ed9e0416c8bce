/** The headers of a message, and the records with which users of NestJS set headers. */
import { bytesOf, type CarriedHeaders, type DataRecord } from '@elysia-microservices/engine'
import { type MessageHeaders, OptionError } from '@elysia-microservices/transport/kit'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'

/**
 * The headers of a message as the driver reads them; `null`: another program has written them so that the driver cannot
 * read them, and throws.
 */
export function headersIn(message: { readonly headers?: MsgHdrs | undefined }): MsgHdrs | undefined | null {
  try {
    return message.headers
  } catch {
    return null
  }
}

/** The headers of a message as a handler gets them; several values of one name are joined with commas. */
export function readHeaders(given: MsgHdrs | undefined): MessageHeaders | undefined {
  if (given === undefined) return undefined
  const names = given.keys()
  if (names.length === 0) return undefined
  return Object.fromEntries(names.map((name) => [name, given.values(name).join(', ')]))
}

/**
 * Converts headers to those of NATS's driver.
 * @throws {OptionError} NATS cannot carry a name or a value
 */
export function writeHeaders(given: CarriedHeaders): MsgHdrs {
  const written = newHeaders()
  for (const name in given) {
    const value = given[name] as string | readonly string[]
    try {
      if (typeof value === 'string') written.set(name, value)
      else for (const one of value) written.append(name, one)
    } catch (cause) {
      const path = `options.headers[${JSON.stringify(name)}]`
      throw new OptionError(path, `${path} cannot be a header of NATS: ${(cause as Error).message}`, cause)
    }
  }
  return written
}

/**
 * Why a header cannot be sent: NATS would react to it (`Nats-Rollup` deletes messages), or would change it.
 * `undefined`: the header can be sent.
 */
export function whyNoHeader(name: string, value: string | readonly string[]): string | undefined {
  if (OWN.test(name)) return 'belongs to NATS, and would change its streams'
  return [value]
    .flat()
    .map(whyChanged)
    .find((why) => why !== undefined)
}

const OWN = /^nats-/i

function whyChanged(value: unknown): string | undefined {
  // The driver throws its own error for other types.
  if (typeof value !== 'string') return undefined
  if (value.trim() !== value) return 'begins or ends with a blank, which NATS removes'
  return /\p{Cs}/u.test(value) ? 'has half of a surrogate pair, which UTF-8 cannot write' : undefined
}

/** Bytes of the headers in a message. */
export function sizeOfHeaders(headers: MsgHdrs): number {
  let size = 'NATS/1.0\r\n\r\n'.length
  for (const [name, values] of headers)
    for (const value of values) size += name.length + bytesOf(value).length + ': \r\n'.length
  return size
}

/** An upper bound for the bytes of the headers, calculated without encoding the values. */
export function mostOfHeaders(headers: MsgHdrs): number {
  let characters = 16
  for (const [name, values] of headers)
    for (const value of values) characters += name.length + value.length + 4
  return 3 * characters
}

/** The record that NestJS's `NatsRecordBuilder` builds. */
interface NatsRecord {
  readonly data: unknown
  readonly headers: MsgHdrs | undefined
}

/** The data and headers of a NestJS record; `undefined`: the value is not such a record. */
export function recordOf(value: unknown): DataRecord | undefined {
  if (!isRecord(value)) return undefined
  const { data, headers } = value
  const given = headers === undefined ? undefined : headers.keys().map((name) => [name, headers.values(name)])
  return { data, headers: given && Object.fromEntries(given) }
}

/**
 * Whether a value is a NestJS record. Recognised by the name of its class, because the class belongs to the user's
 * own copy of NestJS.
 */
function isRecord(value: unknown): value is NatsRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    'headers' in value &&
    value.constructor?.name === 'NatsRecord'
  )
}
