/** The properties of a packet: where answers are wanted, how long it counts, and what stands in them on our own topics. */
import type { Carried, CarriedHeaders } from '@elysia-microservices/transport/engine'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import type { IPublishPacket } from 'mqtt'
import { writeHeaders } from './headers.ts'
import { EVERYONE, isInbox, placeOf } from './topics.ts'

/** As the driver has them. */
export type PacketProperties = NonNullable<IPublishPacket['properties']>

/** In the place of an address that is no inbox: nothing is published there. */
const NOWHERE = '?'

/** The properties that say where an answer is wanted. */
export function asking(reply: string | undefined): PacketProperties {
  if (reply === undefined || reply === '') return {}
  const { topic, token } = placeOf(reply)
  return { responseTopic: topic, correlationData: Buffer.from(token) }
}

/** The headers of a message that is no event. */
export function headersOf(headers: CarriedHeaders | undefined): PacketProperties {
  const { userProperties } = writeHeaders(headers)
  return userProperties === undefined ? {} : { userProperties }
}

/** MQTT counts in whole seconds. */
export function expiring(milliseconds: number | undefined): PacketProperties {
  return milliseconds === undefined || milliseconds > LONGEST_TIME
    ? {}
    : { messageExpiryInterval: Math.max(1, Math.ceil(milliseconds / 1_000)) }
}

/** A message on one of our own topics. Its correlation data are whom it is for, and where the answer is wanted. */
export function heardAt(topic: string, words: Buffer, { properties }: IPublishPacket): Carried {
  const correlation = properties?.correlationData?.toString('latin1') ?? ''
  const from = properties?.responseTopic
  if (topic === EVERYONE)
    return { address: topic, words, reply: known(from, correlation), headers: undefined }
  const blank = correlation.indexOf(' ')
  const token = blank === -1 ? correlation : correlation.slice(0, blank)
  const reply = blank === -1 && from === undefined ? '' : known(from, correlation.slice(blank + 1))
  return { address: `${topic}.${token}`, words, reply, headers: undefined }
}

/** Otherwise a stranger could have us publish on topics of others: such a message is dropped, and counted. */
function known(topic: string | undefined, token: string): string {
  if (topic === undefined) return ''
  const reply = `${topic}.${token}`
  return isInbox(reply) ? reply : NOWHERE
}
