/**
 * The driver of MQTT 5 that this package wants. `connection/mqttjs.ts` has it from mqtt.js, and `testing/fake-server.ts`
 * from a server inside the process, so that everything above runs without a server; `testing/driver-cases.ts` proves
 * that both keep the same promises.
 */
import type { CheckedOptions, MqttServer } from './options/options.ts'
import type { PacketProperties, ReceivedPacket } from './words/properties.ts'

/** A message to be published. */
export interface Packet {
  readonly topic: string
  readonly payload: string | Buffer
  readonly qos: 0 | 1 | 2
  readonly retain?: boolean
  readonly properties?: PacketProperties | undefined
}

/** Gets what happens to a connection. */
export interface DriverListener {
  /** Ends an attempt to connect, with its socket; a connection that stands stays. Default: never. */
  readonly signal?: AbortSignal | undefined
  message(topic: string, bytes: Buffer, packet: ReceivedPacket): void
  /**
   * The connection has ended, unless `end` was called.
   * @param code the reason code with which the server has ended it; `undefined`: it has given none
   */
  lost(code?: number): void
}

/** One connection to a server. It never reconnects. */
export interface DriverConnection {
  /** Whether the server can still be reached. */
  readonly isOpen: boolean
  /** Bytes of the largest message that the server accepts; `undefined`: the server does not say. */
  readonly maximumPacketSize: number | undefined
  /** How many messages may wait for their confirmation at once; `undefined`: the server does not say. */
  readonly receiveMaximum: number | undefined
  /**
   * Subscribes with a quality of service of 0; the server handles commands in order.
   * @param id is given with each message that is received for this filter
   * @throws the server refuses, or is lost
   */
  subscribe(filter: string, id: number | undefined): Promise<void>
  /** Ends subscriptions; resolves when all that was sent for them has arrived. */
  unsubscribe(filters: readonly string[]): Promise<void>
  /**
   * Publishes.
   * @param told is called once the server has confirmed or refused a message with a quality of service above 0;
   * `isHeard` is false if nobody has subscribed to its topic. Not called if the connection is lost before
   */
  publish(packet: Packet, told?: (isHeard: boolean, refusal: Error | undefined) => void): void
  /** Resolves with the answer to a PING, which comes behind the confirmation of all that was published before. */
  ping(): Promise<void>
  /** Ends the connection, without its will. Resolves when it has ended, after a second at the latest. */
  end(): Promise<void>
}

/** Connects to servers. */
export interface Driver {
  /**
   * Connects once.
   * @throws the server cannot be reached, or refuses: then `code` of the error is its reason code
   */
  connect(
    server: MqttServer,
    options: CheckedOptions,
    clientId: string,
    listener: DriverListener
  ): Promise<DriverConnection>
}
