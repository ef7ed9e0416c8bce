/** Headers of NATS and ours, and the records in which Nest's users give them. */
import { bytesOf, type CarriedHeaders, type DataRecord } from '@elysia-microservices/transport/engine'
import { type Headers, OptionError } from '@elysia-microservices/transport/kit'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'

/** Headers as a handler finds them; of several values of one name, all with commas between. */
export function readHeaders(given: MsgHdrs | undefined): Headers | undefined {
  if (given === undefined) return undefined
  const names = given.keys()
  if (names.length === 0) return undefined
  return Object.fromEntries(names.map((name) => [name, given.values(name).join(', ')]))
}

/**
 * Headers for NATS.
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

/** Why NATS would act by a header (`Nats-Rollup` deletes messages), or would change it; `undefined`: it does neither. */
export function whyNoHeader(name: string, value: string | readonly string[]): string | undefined {
  if (OWN.test(name)) return "is NATS's own, and would act on its streams"
  return [value]
    .flat()
    .map(whyChanged)
    .find((why) => why !== undefined)
}

const OWN = /^nats-/i

function whyChanged(value: unknown): string | undefined {
  // The driver says what is wrong with others.
  if (typeof value !== 'string') return undefined
  if (value.trim() !== value) return 'begins or ends with a blank, which NATS takes away'
  return /\p{Cs}/u.test(value) ? 'has half of a surrogate pair, which UTF-8 cannot write' : undefined
}

/** Bytes that headers take in a message. */
export function sizeOfHeaders(headers: MsgHdrs): number {
  let size = 'NATS/1.0\r\n\r\n'.length
  for (const [name, values] of headers)
    for (const value of values) size += name.length + bytesOf(value).length + ': \r\n'.length
  return size
}

/** As many bytes at most, reckoned without encoding a value. */
export function mostOfHeaders(headers: MsgHdrs): number {
  let characters = 16
  for (const [name, values] of headers)
    for (const value of values) characters += name.length + value.length + 4
  return 3 * characters
}

/** The record that Nest's `NatsRecordBuilder` builds. */
interface NatsRecord {
  readonly data: unknown
  readonly headers: MsgHdrs | undefined
}

/** The data and headers of a record of Nest's; `undefined`: it is none. */
export function recordOf(value: unknown): DataRecord | undefined {
  if (!isRecord(value)) return undefined
  const { data, headers } = value
  const given = headers === undefined ? undefined : headers.keys().map((name) => [name, headers.values(name)])
  return { data, headers: given && Object.fromEntries(given) }
}

/** Whether data, or a result, is a record with headers of its own. Known by its class's name: it is the user's copy of Nest. */
function isRecord(value: unknown): value is NatsRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    'headers' in value &&
    value.constructor?.name === 'NatsRecord'
  )
}
