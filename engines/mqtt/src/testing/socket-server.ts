/**
 * The fake server behind a socket, in MQTT's own packets: so a driver is tested over everything that lies between, and
 * a test says how the server greets, and sees each packet that has come.
 */
import type { Socket } from 'node:net'
import { SocketServer } from '@elysia-microservices/test-support'
import { generate, type IConnectPacket, type Packet, parser } from 'mqtt-packet'
import type { DriverConnection } from '../driver.ts'
import { mqttOptions } from '../options/options.ts'
import { FakeMqttServer } from './fake-server.ts'

const VERSION = { protocolVersion: 5 }
/** The reason code for a message to which nobody has subscribed. */
const NOBODY = 16

/** How the server answers a connection: with this reason code, and with these limits. */
export interface Greeting {
  readonly reasonCode?: number
  readonly properties?: { readonly maximumPacketSize?: number; readonly receiveMaximum?: number }
}

export class MqttSocketServer extends SocketServer {
  readonly fake = new FakeMqttServer()
  /** All packets that have come, in order. */
  readonly received: Packet[] = []
  /** `undefined`: connections are taken, and not answered. */
  greeting: Greeting | undefined = {}
  /** Whether packets are read and nothing is done with them. */
  isSilent = false

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  /** Sends packets over every socket, in one piece. */
  send(...packets: readonly Packet[]): void {
    const bytes = Buffer.concat(packets.map((packet) => generate(packet, VERSION)))
    for (const socket of this.sockets) socket.write(bytes)
  }

  /** The packets of a kind that have come. */
  of<Kind extends Packet['cmd']>(kind: Kind): Extract<Packet, { readonly cmd: Kind }>[] {
    return this.received.filter(({ cmd }) => cmd === kind) as Extract<Packet, { readonly cmd: Kind }>[]
  }

  protected serve(socket: Socket): void {
    const client = new Client(this, socket)
    socket.on('close', () => client.gone())
    const packets = parser(VERSION)
    packets.on('packet', (packet) => {
      this.received.push(packet)
      if (!this.isSilent) client.handle(packet)
    })
    socket.on('data', (bytes) => void packets.parse(bytes))
  }
}

/** One socket: what comes is asked of the fake, and what the fake does is sent. */
class Client {
  readonly #server: MqttSocketServer
  readonly #socket: Socket
  #connecting: Promise<DriverConnection | undefined> = Promise.resolve(undefined)
  #isGone = false

  constructor(server: MqttSocketServer, socket: Socket) {
    this.#server = server
    this.#socket = socket
  }

  handle(packet: Packet): void {
    if (packet.cmd === 'connect') this.#connecting = this.#connect(packet).catch(() => this.#hangUp())
    // One after the other: the server handles packets in order.
    else void this.#connecting.then((connection) => connection && this.#ask(connection, packet))
  }

  async #connect({ clientId, will }: IConnectPacket): Promise<DriverConnection | undefined> {
    const { fake, url, greeting } = this.#server
    if (greeting === undefined) return undefined
    if (greeting.reasonCode === undefined) {
      const event = will && {
        pattern: will.topic,
        data: (JSON.parse(String(will.payload)) as { readonly data?: unknown }).data,
        retain: will.retain,
        delay: (will.properties?.willDelayInterval ?? 0) * 1_000
      }
      const options = mqttOptions({ url, will: event })
      const server = { ...options.servers[0]!, port: fake.port }
      const connection = await fake.driver.connect(server, options, clientId, {
        message: (topic, bytes, { retain, properties }) =>
          this.#send({
            ...{ cmd: 'publish', topic, payload: bytes, qos: 0, dup: false, retain },
            ...(properties && { properties })
          }),
        lost: (reasonCode) => {
          if (reasonCode !== undefined) this.#send({ cmd: 'disconnect', reasonCode })
          this.#hangUp()
        }
      })
      this.#send({ cmd: 'connack', reasonCode: 0, sessionPresent: false, ...greeting })
      return connection
    }
    this.#send({ cmd: 'connack', sessionPresent: false, ...greeting })
    this.#hangUp()
    return undefined
  }

  #ask(connection: DriverConnection, packet: Packet): void {
    const { messageId = 0 } = packet
    if (packet.cmd === 'publish') {
      const { topic, qos, retain, properties } = packet
      const answer = qos === 2 ? 'pubrec' : 'puback'
      connection.publish(
        { topic, payload: packet.payload, qos, retain, ...(properties && { properties }) },
        (isHeard, refusal) => {
          const { code } = (refusal ?? {}) as { readonly code?: number }
          this.#send({ cmd: answer, messageId, reasonCode: code ?? (isHeard ? 0 : NOBODY) })
        }
      )
    } else if (packet.cmd === 'pubrel') this.#send({ cmd: 'pubcomp', messageId })
    else if (packet.cmd === 'subscribe') {
      const [{ topic, qos } = { topic: '', qos: 0 }] = packet.subscriptions
      connection.subscribe(topic, packet.properties?.subscriptionIdentifier).then(
        () => this.#send({ cmd: 'suback', messageId, granted: [qos] }),
        ({ code }: { readonly code?: number }) =>
          code !== undefined && this.#send({ cmd: 'suback', messageId, granted: [code] })
      )
    } else if (packet.cmd === 'unsubscribe')
      connection.unsubscribe(packet.unsubscriptions).then(
        () => this.#send({ cmd: 'unsuback', messageId, granted: packet.unsubscriptions.map(() => 0) }),
        () => {}
      )
    else if (packet.cmd === 'pingreq')
      connection.ping().then(
        () => this.#send({ cmd: 'pingresp' }),
        () => {}
      )
    else if (packet.cmd === 'disconnect') void connection.end().then(() => this.#hangUp())
  }

  /** The socket has ended: the fake loses the connection, unless it ended it. */
  gone(): void {
    this.#isGone = true
    void this.#connecting.then((connection) => (connection as { drop?(): void } | undefined)?.drop?.())
  }

  #send(packet: Packet): void {
    if (!this.#isGone) this.#socket.write(generate(packet, VERSION))
  }

  #hangUp(): undefined {
    this.#socket.end()
  }
}
