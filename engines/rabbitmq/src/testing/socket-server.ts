/**
 * The fake server behind a socket, in AMQP's own frames: so a driver is tested over everything that lies between, and a
 * test says how the server greets, and whether it answers.
 */
import type { Socket } from 'node:net'
import { SocketServer } from '@elysia-microservices/test-support'
import type { DriverConnection } from '../driver.ts'
import { FakeRabbitServer } from './fake-server.ts'
import { type Fields, type Frame, nameOf, readFrames, writeMethod } from './frames.ts'
import { SocketChannel } from './socket-channel.ts'

const LIMITS = { channelMax: 100, frameMax: 128 * 1_024, heartbeat: 60 }
const IGNORED = { tls: undefined, connectTimeout: 0, heartbeat: 0, name: undefined }

export class AmqpSocketServer extends SocketServer {
  readonly fake = new FakeRabbitServer()
  /** The fields with which clients have named themselves, and then those with the limits that they have taken. */
  readonly greeted: Fields[] = []
  /** The names of the methods that have come, in order. */
  readonly received: string[] = []
  /** Whether exchanges were declared to outlive the server, in order. */
  readonly declared: unknown[] = []
  /** Why connections are refused; `undefined`: they are not. */
  refusal: string | undefined
  /** Whether frames are read and nothing is done with them. */
  isSilent = false

  get url(): string {
    return `amqp://127.0.0.1:${this.port}`
  }

  /** Sends a method of the connection itself over every socket. */
  send(name: string, fields: Fields): void {
    for (const socket of this.sockets) writeMethod(socket, 0, name, fields)
  }

  protected serve(socket: Socket): void {
    const client = new Client(this, socket)
    socket.on('close', () => client.gone())
    readFrames(
      socket,
      () => this.isSilent || client.greet(),
      (frame) => {
        const name = frame.id === undefined ? undefined : nameOf(frame.id)
        if (name !== undefined && frame.content === undefined) this.received.push(name)
        if (name === 'ExchangeDeclare' && frame.fields?.['passive'] !== true)
          this.declared.push(frame.fields?.['durable'])
        if (!this.isSilent) client.handle(name, frame)
      }
    )
  }
}

/** One socket: what comes is asked of the fake, and what the fake does is sent. */
class Client {
  readonly #server: AmqpSocketServer
  readonly #socket: Socket
  readonly #channels = new Map<number, SocketChannel>()
  #connection: DriverConnection | undefined

  constructor(server: AmqpSocketServer, socket: Socket) {
    this.#server = server
    this.#socket = socket
  }

  greet(): void {
    const { version } = this.#server.fake
    this.#send('ConnectionStart', {
      ...{ versionMajor: 0, versionMinor: 9, serverProperties: { version } },
      mechanisms: Buffer.from('PLAIN')
    })
  }

  handle(name: string | undefined, frame: Frame): void {
    const { channel, fields = {} } = frame
    if (channel > 0) this.#onChannel(channel, name, frame)
    else if (name === 'ConnectionStartOk' || name === 'ConnectionTuneOk') {
      this.#server.greeted.push(fields)
      if (name === 'ConnectionStartOk') this.#tune()
    } else if (name === 'ConnectionOpen') void this.#open()
    else if (name === 'ConnectionClose')
      void Promise.resolve(this.#connection?.close()).then(() => {
        this.#send('ConnectionCloseOk')
        this.#socket.end()
      })
  }

  #tune(): void {
    const { refusal } = this.#server
    if (refusal === undefined) this.#send('ConnectionTune', LIMITS)
    else this.#send('ConnectionClose', { replyCode: 403, replyText: refusal, classId: 0, methodId: 0 })
  }

  async #open(): Promise<void> {
    const { fake } = this.#server
    try {
      this.#connection = await fake.driver.connect(`amqp://127.0.0.1:${fake.port}`, IGNORED, {
        lost: () => this.#socket.destroy(),
        halted: (reason) =>
          reason === undefined
            ? this.#send('ConnectionUnblocked')
            : this.#send('ConnectionBlocked', { reason })
      })
      this.#send('ConnectionOpenOk')
    } catch {
      this.#socket.destroy()
    }
  }

  #onChannel(number: number, name: string | undefined, frame: Frame): void {
    const connection = this.#connection as DriverConnection
    if (name === 'ChannelOpen') {
      const send = (...args: Parameters<SocketChannel['send']>) => writeMethod(this.#socket, number, ...args)
      this.#channels.set(number, new SocketChannel(connection, send))
      return send('ChannelOpenOk')
    }
    const channel = this.#channels.get(number)
    if (name === 'ChannelClose' || name === 'ChannelCloseOk') this.#channels.delete(number)
    channel?.handle(name, frame)
  }

  /** The socket has ended: the fake loses the connection, unless it ended it. */
  gone(): void {
    ;(this.#connection as { drop?(): void } | undefined)?.drop?.()
  }

  #send(name: string, fields: Fields = {}): void {
    writeMethod(this.#socket, 0, name, fields)
  }
}
