/** The driver over mqtt.js. No other file knows mqtt.js, except for its types of packets. */
import type { Socket } from 'node:net'
import { unanswered } from '@elysia-microservices/engine'
import { ConnectionError, endedWithin, unlessAborted } from '@elysia-microservices/transport/kit'
import mqtt, { type IConnackPacket, type MqttClient } from 'mqtt'
import type { Driver, DriverConnection, DriverListener, Packet } from '../driver.ts'
import type { CheckedOptions, MqttServer } from '../options/options.ts'

/** The reason code for a message to which nobody has subscribed. */
const NOBODY = 16
/** A topic to which nobody subscribes. */
const NOTHING = '_elysia/nothing'

interface Pong {
  resolve(): void
  reject(error: Error): void
}

export const mqttjs: Driver = {
  connect(server, options, clientId, listener) {
    const client = mqtt.connect(settingsOf(server, options, clientId))
    const socket = client.stream as Partial<Socket>
    socket.setNoDelay?.(true)
    const connecting = new Promise<DriverConnection>((resolve, reject) => {
      let failure: Error | undefined
      let connection: Connection | undefined
      // An error event without a listener would end the process.
      client.on('error', (error) => {
        failure ??= error.message === 'connack timeout' ? unanswered(options.connectTimeout) : error
        if (!client.connected) client.stream?.destroy()
      })
      client.once('connect', (connack) => {
        connection = new Connection(client, connack, options.qos, listener)
        resolve(connection)
      })
      client.once('close', () => {
        reject(failure ?? new Error('the server has ended the connection'))
        connection?.closed()
      })
    })
    return unlessAborted(connecting, listener.signal, () => client.end(true))
  }
}

function settingsOf(
  { protocol, host, port, username, password }: MqttServer,
  options: CheckedOptions,
  clientId: string
): mqtt.IClientOptions {
  const { tls, connectTimeout, heartbeat, will } = options
  return {
    ...(tls as object),
    protocol,
    host,
    port,
    clientId,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    protocolVersion: 5,
    clean: true,
    // Otherwise the driver would send lost messages again, in another order, and would never stop.
    reconnectPeriod: 0,
    connectTimeout,
    keepalive: Math.max(1, Math.round(heartbeat / 1_000)),
    ...(will !== undefined && {
      will: {
        topic: will.pattern,
        payload: Buffer.from(JSON.stringify({ pattern: will.pattern, data: will.data })),
        qos: 1 as const,
        retain: will.retain,
        properties: { willDelayInterval: seconds(will.delay) }
      }
    }),
    // A will with a delay needs a session that lasts as long.
    properties: { sessionExpiryInterval: seconds(will?.delay) }
  }
}

/** MQTT has whole seconds. */
function seconds(milliseconds = 0): number {
  return Math.ceil(milliseconds / 1_000)
}

class Connection implements DriverConnection {
  readonly #client: MqttClient
  readonly #connack: IConnackPacket
  /** The quality of service of subscriptions. */
  readonly #qos: 0 | 1 | 2
  readonly #listener: DriverListener
  readonly #nobody = new Set<number>()
  readonly #pings: (Pong | undefined)[] = []
  readonly #asked: Pong[] = []
  #sent = 0
  #isHurrying = false
  #isOver = false
  /** The reason code with which the server ends the connection. */
  #code: number | undefined

  constructor(client: MqttClient, connack: IConnackPacket, qos: 0 | 1 | 2, listener: DriverListener) {
    this.#client = client
    this.#qos = qos
    this.#connack = connack
    this.#listener = listener
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'puback' && packet.reasonCode === NOBODY)
        this.#nobody.add(packet.messageId as number)
      else if (packet.cmd === 'pingresp') this.#pings.shift()?.resolve()
      else if (packet.cmd === 'disconnect') this.#code = packet.reasonCode
      // Subscribers of `#` receive this topic, too, and would answer each other's packets for ever.
      const isNothing = packet.cmd === 'publish' && packet.topic === NOTHING
      if (packet.cmd !== 'connack' && !isNothing) this.#hurry()
    })
    client.on('packetsend', (packet) => {
      // The driver also sends PING on its own, so a list tells which answer belongs to which.
      if (packet.cmd === 'pingreq') this.#pings.push(this.#asked.shift())
    })
    client.on('message', (topic, bytes, packet) => listener.message(topic, bytes, packet))
  }

  get isOpen(): boolean {
    return this.#client.connected && !this.#isOver
  }

  get maximumPacketSize(): number | undefined {
    return this.#connack.properties?.maximumPacketSize
  }

  get receiveMaximum(): number | undefined {
    return this.#connack.properties?.receiveMaximum
  }

  // The driver fails both itself if the connection ends before the server has answered.
  async subscribe(filter: string, id: number | undefined): Promise<void> {
    const properties = id === undefined ? undefined : { subscriptionIdentifier: id }
    await this.#client.subscribeAsync(filter, { qos: this.#qos, ...(properties && { properties }) })
  }

  async unsubscribe(filters: readonly string[]): Promise<void> {
    await this.#client.unsubscribeAsync([...filters])
  }

  publish(
    { topic, payload, qos, retain = false, properties }: Packet,
    told?: (isHeard: boolean, refusal: Error | undefined) => void
  ): void {
    const options = properties === undefined ? { qos, retain } : { qos, retain, properties }
    this.#sent++
    if (qos === 0) return void this.#client.publish(topic, payload, options)
    this.#client.publish(topic, payload, options, (error, packet) => {
      // The connection is being closed, which the driver tells here first. Refusals of the server have a code.
      if (error && (error as { readonly code?: unknown }).code === undefined) return
      // The driver passes the packet that was published, not the answer of the server.
      const isNobody = packet?.messageId !== undefined && this.#nobody.delete(packet.messageId)
      told?.(!isNobody, error ?? undefined)
    })
  }

  ping(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(new ConnectionError('The connection has ended', true))
      this.#asked.push({ resolve, reject })
      this.#client.sendPing()
    })
  }

  async end(): Promise<void> {
    this.#isOver = true
    // Closing does not wait longer for a server that does not answer.
    await endedWithin(
      this.#client.endAsync(false).catch(() => {}),
      1_000
    )
    this.#client.stream.destroy()
  }

  closed(): void {
    for (const one of [...this.#pings, ...this.#asked])
      one?.reject(new ConnectionError('The connection has ended', true))
    if (!this.#isOver) this.#listener.lost(this.#code)
  }

  /**
   * Sends a small packet if no other packet is sent in this turn. A server that collects what it writes (Nagle's
   * algorithm, as in mosquitto by default) sends nothing more until the previous packet is acknowledged, and
   * operating systems delay that by 40 ms unless data goes back. With this packet a request takes 2 ms instead of 45,
   * and a stream has 1.8 million values a second instead of 26,000.
   */
  #hurry(): void {
    if (this.#isHurrying) return
    this.#isHurrying = true
    const sent = this.#sent
    setImmediate(() => {
      this.#isHurrying = false
      if (sent === this.#sent && this.isOpen) this.#client.publish(NOTHING, '')
    })
  }
}
