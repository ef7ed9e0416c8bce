/** Messages of RabbitMQ, Kafka and MQTT, as far as they are known here, in the form in which Nest's handlers read them. */
import type { MessageHeaders } from '../headers.ts'
import type { IncomingMessage } from '../message.ts'
import { remember } from './driver-refs.ts'

/** The fields of a message that are read. */
type Viewed = Pick<IncomingMessage, 'headers' | 'pattern'> &
  Partial<Pick<IncomingMessage, 'delivery' | 'settle'>>

/** A message of RabbitMQ or Kafka, as handlers of Nest read it. */
export interface RmqMessage {
  /** The key, over Kafka and of a durable event; `undefined` if it has none. */
  readonly key: string | undefined
  /** The offset of a durable event over Kafka; `undefined`: it is not known. */
  readonly offset: string | undefined
  /** The headers, in the field in which Kafka's messages have them. */
  readonly headers: MessageHeaders
  readonly properties: {
    readonly headers: MessageHeaders
    /** 0 to 255; `undefined` if the caller has set none. */
    readonly priority: number | undefined
  }
  /** Facts of the delivery. */
  readonly fields: { readonly routingKey: string; readonly redelivered: boolean }
}

/** A message of MQTT, as handlers of Nest read it. */
export interface MqttPacket {
  readonly topic: string
  /** The quality of service with which the message arrived. */
  readonly qos: number
  /** Whether the message is a retained one, which the server had stored before the service subscribed. */
  readonly retain: boolean
  readonly properties: { readonly userProperties: MessageHeaders }
}

export function messageInNest(message: Viewed): RmqMessage {
  const { 'amqp-priority': priority, 'kafka-key': key, ...headers } = message.headers
  const { delivery } = message
  const view: RmqMessage = {
    key: delivery?.key ?? key,
    offset: placeInNest(message)?.offset,
    headers,
    properties: { headers, priority: priority === undefined ? undefined : Number(priority) },
    fields: { routingKey: message.pattern, redelivered: delivery?.redelivered ?? false }
  }
  return remember(view, message)
}

export function packetInNest({ headers }: Viewed, topic: string): MqttPacket {
  const { 'mqtt-retain': retain, 'mqtt-qos': qos = '0', ...userProperties } = headers
  return { topic, qos: Number(qos), retain: retain === 'true', properties: { userProperties } }
}

/** Where a durable event over Kafka stands: its position begins with the partition and the offset. */
export function placeInNest({ delivery }: Viewed): { partition: number; offset: string } | undefined {
  const [, partition, offset] = /^(\d+)-(\d+)-\d+$/.exec(delivery?.position ?? '') ?? []
  return partition === undefined || offset === undefined
    ? undefined
    : { partition: Number(partition), offset }
}
