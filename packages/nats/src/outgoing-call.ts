/** A call as it goes to NATS: its subject, its packet as Nest's clients write it, its headers. */
import {
  isStream,
  OptionError,
  type PendingCall,
  reasonOf,
  requestHead,
  requestPacket,
  routeOf,
  toJson
} from '@elysia-microservices/transport/kit'
import type { MsgHdrs } from '@nats-io/transport-node'
import { isRecord, writeHeaders } from './headers.ts'
import { subjectOfCall } from './subjects.ts'

/** What is sent. */
export interface OutgoingCall {
  readonly subject: string
  readonly headers: MsgHdrs | undefined
  /** The packet; of a channel without data. */
  readonly packet: string
  /** What is sent value by value. */
  readonly input: object | undefined
}

/** Subjects and heads of packets by pattern; bounded, because patterns may be made at run time. */
const MAX_REMEMBERED = 1024
const remembered = new Map<string | number, { readonly subject: string; readonly head: string }>()

/** @throws {OptionError} NATS, or JSON, cannot carry a part of it */
export function outgoingCall(call: PendingCall): OutgoingCall {
  const { subject, head } = addressOf(call)
  const record = isRecord(call.data) ? call.data : undefined
  const data = record === undefined ? call.data : record.data
  const given = call.options?.headers
  const headers =
    given === undefined && record === undefined ? undefined : writeHeaders(given, record?.headers)
  const input = typeof data === 'object' && data !== null && isStream(data) ? data : undefined
  if (input !== undefined && call.kind === 'event')
    throw new OptionError('data', 'An event over NATS cannot carry a stream; a request can')
  const json = input === undefined ? dataToJson(data) : undefined
  const packet =
    call.kind === 'event' ? eventOf(head, json) : requestPacket(head, json, undefined, call.sequence)
  return { subject, headers, packet, input }
}

function eventOf(head: string, json: string | undefined): string {
  return json === undefined ? `${head}}` : `${head},"data":${json}}`
}

function addressOf({ pattern }: PendingCall): { readonly subject: string; readonly head: string } {
  if (typeof pattern === 'object')
    return { subject: subjectOfCall(routeOf(pattern)), head: requestHead(pattern) }
  const known = remembered.get(pattern)
  if (known !== undefined) return known
  const fresh = { subject: subjectOfCall(routeOf(pattern)), head: requestHead(pattern) }
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(pattern, fresh)
  return fresh
}

/** @throws {OptionError} JSON cannot carry it */
export function dataToJson(data: unknown): string | undefined {
  try {
    return toJson(data)
  } catch (cause) {
    throw new OptionError('data', `data cannot be carried by JSON: it ${reasonOf(cause)}`, cause)
  }
}
