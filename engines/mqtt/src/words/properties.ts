/** The properties of a packet: its reply address, its expiry, and what they contain on the topics of this library. */
import type { Carried, CarriedHeaders } from '@elysia-microservices/engine'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import type { IPublishPacket } from 'mqtt'
import { writeHeaders } from './headers.ts'
import { EVERYONE, isInbox, placeOf } from './topics.ts'

/** The properties, as the driver's types define them. */
export type PacketProperties = NonNullable<IPublishPacket['properties']>

/** A message that has arrived, without its topic and payload. */
export interface ReceivedPacket {
  readonly retain: boolean
  readonly properties?: PacketProperties | undefined
}

/** Stands for a reply address that is not an inbox; nothing is published to this address. */
const NOWHERE = '?'

/** A reply address as properties of a packet. */
export function asking(reply: string | undefined): PacketProperties {
  if (reply === undefined || reply === '') return {}
  const { topic, token } = placeOf(reply)
  return { responseTopic: topic, correlationData: Buffer.from(token) }
}

/** The headers of a message that is not an event. */
export function headersOf(headers: CarriedHeaders | undefined): PacketProperties {
  const { userProperties } = writeHeaders(headers)
  return userProperties === undefined ? {} : { userProperties }
}

/** Converts an expiry to whole seconds, in which MQTT counts. */
export function expiring(milliseconds: number | undefined): PacketProperties {
  return milliseconds === undefined || milliseconds > LONGEST_TIME
    ? {}
    : { messageExpiryInterval: Math.max(1, Math.ceil(milliseconds / 1_000)) }
}

/**
 * Reads a message on a topic of this library. Its correlation data have the rest of the address, and of the reply
 * address.
 */
export function heardAt(topic: string, words: Buffer, { properties }: ReceivedPacket): Carried {
  const correlation = properties?.correlationData?.toString('latin1') ?? ''
  const from = properties?.responseTopic
  if (topic === EVERYONE)
    return { address: topic, words, reply: known(from, correlation), headers: undefined }
  const blank = correlation.indexOf(' ')
  const token = blank === -1 ? correlation : correlation.slice(0, blank)
  const reply = known(from, correlation.slice(blank + 1))
  return { address: `${topic}.${token}`, words, reply, headers: undefined }
}

/**
 * Returns the reply address if it is an inbox. A message with any other reply address is dropped and counted:
 * otherwise a stranger could make this service publish to any topic.
 */
function known(topic: string | undefined, token: string): string {
  if (topic === undefined) return ''
  const reply = `${topic}.${token}`
  return isInbox(reply) ? reply : NOWHERE
}
