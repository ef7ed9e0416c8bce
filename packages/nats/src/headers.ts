/** Headers of NATS and ours, and the records in which Nest's users give them. */
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
 * Headers for NATS; those of a record come first.
 * @throws {OptionError} NATS cannot carry a name or a value
 */
export function writeHeaders(given: Headers | undefined, record: MsgHdrs | undefined): MsgHdrs | undefined {
  if (given === undefined) return record
  const written = newHeaders()
  if (record !== undefined)
    for (const name of record.keys()) for (const value of record.values(name)) written.append(name, value)
  for (const name in given) {
    try {
      written.set(name, given[name] as string)
    } catch (cause) {
      const path = `options.headers[${JSON.stringify(name)}]`
      throw new OptionError(path, `${path} cannot be a header of NATS: ${(cause as Error).message}`, cause)
    }
  }
  return written
}

/** What `NatsRecordBuilder` of Nest builds. */
export interface NatsRecord {
  readonly data: unknown
  readonly headers: MsgHdrs | undefined
}

/** Whether data, or a result, is a record with headers of its own. Known by its class's name: it is the user's copy of Nest. */
export function isRecord(value: unknown): value is NatsRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    'headers' in value &&
    value.constructor?.name === 'NatsRecord'
  )
}
