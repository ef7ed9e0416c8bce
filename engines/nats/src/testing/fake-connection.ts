/** One connection to the server inside the process. It comes back with its subscriptions as long as it is not closed. */
import { errors, type MsgHdrs } from '@nats-io/transport-node'
import type {
  DriverConnection,
  DriverListener,
  DriverSubscription,
  JetStream,
  Message,
  Receive
} from '../driver.ts'
import { sizeOfHeaders } from '../words/headers.ts'
import { fakeJetStream } from './fake-jetstream.ts'
import type { FakeNatsServer } from './fake-server.ts'

/** A subscription of a connection. */
export class FakeSubscription {
  /** The beginning of the subject of each message. */
  readonly head: string
  readonly subject: string
  readonly queue: string | undefined
  readonly #connection: FakeConnection
  readonly #receive: Receive

  constructor(connection: FakeConnection, subject: string, queue: string | undefined, receive: Receive) {
    this.subject = subject
    this.queue = queue
    this.#connection = connection
    this.#receive = receive
    this.head = /^[^*>]*/.exec(subject)?.[0] ?? ''
  }

  hear(message: Message): void {
    this.#connection.arrives(() => {
      if (this.#connection.has(this)) this.#receive(null, message)
    })
  }

  refuse(error: Error): void {
    this.#receive(error, { subject: this.subject, data: new Uint8Array(0) })
  }
}

export class FakeConnection implements DriverConnection {
  readonly port: number
  isConnected = true
  readonly #server: FakeNatsServer
  readonly #listener: DriverListener
  readonly #subscriptions = new Set<FakeSubscription>()
  /** Rejects what waits for an answer of the server. */
  readonly #unanswered = new Set<(error: Error) => void>()
  /** Counts the connections to the server: what an earlier one has sent does not arrive any more. */
  #epoch = 0
  #isClosed = false

  constructor(server: FakeNatsServer, port: number, listener: DriverListener) {
    this.#server = server
    this.port = port
    this.#listener = listener
  }

  get server(): string {
    return `127.0.0.1:${this.port}`
  }

  get maxPayload(): number {
    return this.#server.maxPayload
  }

  publish(subject: string, bytes: Uint8Array, reply: string | undefined, headers: MsgHdrs | undefined): void {
    if (this.#isClosed) throw new errors.ClosedConnectionError()
    if (bytes.length + (headers === undefined ? 0 : sizeOfHeaders(headers)) > this.maxPayload)
      throw new errors.InvalidArgumentError('payload max_payload size exceeded')
    this.#send(() => {
      if (this.#server.forbidden.has(subject))
        this.#listener.refused(subject, 'publish', refusal('publish', subject))
      else this.#server.publish(subject, bytes, reply, headers)
    })
  }

  subscribe(subject: string, queue: string | undefined, receive: Receive): DriverSubscription {
    const one = new FakeSubscription(this, subject, queue, receive)
    this.#subscriptions.add(one)
    this.#send(() => this.#enter(one))
    const forget = () => this.#subscriptions.delete(one)
    const end = () => this.#server.unsubscribe(one)
    return {
      // The messages that the server had sent by then still arrive.
      drain: () => this.answered(end).finally(forget),
      unsubscribe() {
        forget()
        end()
      }
    }
  }

  has(one: FakeSubscription): boolean {
    return this.#subscriptions.has(one)
  }

  #enter(one: FakeSubscription): void {
    if (!this.#subscriptions.has(one)) return
    if (!this.#server.forbidden.has(one.subject)) return this.#server.subscribe(one)
    const error = refusal('subscription', one.subject)
    this.#listener.refused(one.subject, 'listen', error)
    one.refuse(error)
  }

  flush(): Promise<void> {
    return this.answered(() => {})
  }

  async jetStream(): Promise<JetStream> {
    await this.answered(() => {
      if (!this.#server.hasJetStream) throw new Error('jetstream is not enabled')
    })
    return fakeJetStream(this, this.#server)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#end()
    this.#server.forget(this)
    this.#listener.ended(undefined)
  }

  /** The connection is lost. */
  drop(): void {
    if (!this.isConnected) return
    this.#end()
    this.#listener.lost()
  }

  #end(): void {
    this.isConnected = false
    this.#epoch++
    for (const one of this.#subscriptions) this.#server.unsubscribe(one)
    for (const reject of this.#unanswered) reject(new errors.RequestError('connection disconnected'))
    this.#unanswered.clear()
  }

  /** There is a server again. */
  restore(): void {
    this.isConnected = true
    for (const one of this.#subscriptions) this.#enter(one)
    this.#listener.restored()
  }

  /** Runs a command at the server, unless the connection is lost before. */
  #send(command: () => void): void {
    if (this.isConnected) this.arrives(command)
  }

  /** Does what has come from the other end of the connection, unless the connection is lost on the way. */
  arrives(task: () => void): void {
    const epoch = this.#epoch
    this.#server.over(this, () => {
      if (epoch === this.#epoch) task()
    })
  }

  /** Resolves with what the command returns at the server; rejects if the connection is lost before. */
  answered<Value>(command: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new errors.ClosedConnectionError())
      if (!this.isConnected) return reject(new errors.RequestError('connection disconnected'))
      this.#unanswered.add(reject)
      const answer = (settle: () => void) =>
        this.arrives(() => {
          this.#unanswered.delete(reject)
          settle()
        })
      this.#send(() => {
        try {
          const value = command()
          answer(() => resolve(value))
        } catch (error) {
          answer(() => reject(error))
        }
      })
    })
  }
}

function refusal(operation: 'publish' | 'subscription', subject: string): Error {
  const text = `Permissions Violation for ${operation} to "${subject}"`
  return new errors.PermissionViolationError(text, operation, subject, undefined)
}
