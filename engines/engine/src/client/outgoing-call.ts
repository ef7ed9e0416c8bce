/** A call as it is sent to an engine: its address, its headers, and its packet in the format of Nest's clients. */
import {
  isStream,
  type MessageHeaders,
  OptionError,
  type PendingCall,
  routeOf
} from '@elysia-microservices/transport/kit'
import { requestHead, requestPacket } from '@elysia-microservices/transport/nest'
import { type Addressing, addressOfCall } from '../address.ts'
import type { CarriedHeaders, Engine } from '../carrier.ts'
import { checkHeaders, checkRecord } from '../headers.ts'
import { valueToJson } from '../words.ts'

/** The message of a call or event, with its address. */
export interface OutgoingCall {
  readonly address: string
  readonly headers: CarriedHeaders | undefined
  /** The packet without its data and its end. */
  readonly head: string
  /** The data as JSON; `undefined` if the call has no data. */
  readonly json: string | undefined
  /** The stream of a channel. */
  readonly input: object | undefined
}

/** Most patterns whose address and packet head are remembered; limited, because patterns may be made at run time. */
const MAX_REMEMBERED = 1024

/** The fields of a call, or of an event to be stored, that a `CallWriter` needs. */
type Writable = Pick<PendingCall, 'kind' | 'pattern' | 'data' | 'headers'>

interface Place {
  readonly address: string
  readonly head: string
}

/** The fields of an engine that decide how a call is written. */
type Writing = Addressing & Pick<Engine, 'recordOf' | 'whyNoHeader'>

/** Writes calls for one engine. */
export class CallWriter {
  readonly #engine: Writing
  readonly #remembered = new Map<string | number, Place>()

  constructor(engine: Writing) {
    this.#engine = engine
  }

  /** @throws {OptionError} the engine or JSON cannot carry a part of the call */
  write(call: Writable): OutgoingCall {
    const { address, head } = this.#placeOf(call)
    const record = this.#engine.recordOf?.(call.data)
    const data = record === undefined ? call.data : record.data
    if (record?.headers !== undefined) checkRecord(record.headers)
    const headers = mergedHeaders(record?.headers, call.headers)
    if (headers !== undefined) checkHeaders(this.#engine, headers)
    const input = typeof data === 'object' && data !== null && isStream(data) ? data : undefined
    if (input !== undefined && call.kind === 'event')
      throw new OptionError(
        'data',
        `An event over ${this.#engine.title} cannot carry a stream; a request can`
      )
    const json = input === undefined ? valueToJson(data) : undefined
    return { address, headers, head, json, input }
  }

  #placeOf({ pattern }: Writable): Place {
    if (typeof pattern === 'object') return this.#newPlace(pattern)
    const known = this.#remembered.get(pattern)
    if (known !== undefined) return known
    const fresh = this.#newPlace(pattern)
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(pattern, fresh)
    return fresh
  }

  #newPlace(pattern: PendingCall['pattern']): Place {
    return { address: addressOfCall(this.#engine, routeOf(pattern)), head: requestHead(pattern) }
  }
}

/** The packet of a call. The packet of an event has no number. */
export function packetOf({ kind, sequence }: PendingCall, { head, json }: OutgoingCall): string {
  return kind === 'event' ? eventOf(head, json) : requestPacket(head, json, undefined, sequence)
}

/** The packet of an event, with the pattern as the user wrote it, in the format of Nest's clients of brokers. */
export function eventOf(head: string, json: string | undefined): string {
  return json === undefined ? `${head}}` : `${head},"data":${json}}`
}

/** Merges the headers of a record with those of the call, which win. */
export function mergedHeaders(
  record: CarriedHeaders | undefined,
  given: MessageHeaders | undefined
): CarriedHeaders | undefined {
  if (record === undefined) return given
  return given === undefined ? record : { ...record, ...given }
}
