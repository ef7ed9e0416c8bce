/** A complete engine in one file: calls, streams and channels over a hub that passes on lines of JSON. */
import { once } from 'node:events'
import net from 'node:net'
import {
  type Carried,
  type CarriedHeaders,
  type Carrier,
  type CarrierListener,
  type Engine,
  engineTransport,
  HeldMessages,
  joinedHeaders,
  newSecret,
  Room,
  type Sender,
  type Subject,
  textOf,
  type Words
} from '@elysia-microservices/engine'
import { ConnectionError, type Transport } from '@elysia-microservices/transport/kit'

type Receive = (message: Carried) => void
/** The number of our subscription, and its message. */
type FromHub = [id: number, address: string, words?: string, reply?: string, headers?: Carried['headers']]

/** A consumer of stored events: what the hub tells it. */
export interface HubListener {
  event(value: unknown): void
  paused(value: unknown): void
}

/** Reads complete lines from a socket; a part of a line at the end of the connection is dropped. */
export function readLines(socket: net.Socket, read: (line: string) => void): void {
  let pieces: string[] = []
  socket.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...more] = text.split('\n')
    pieces.push(first)
    for (const next of more) {
      read(pieces.join(''))
      pieces = [next]
    }
  })
}

/** One connection to the hub. */
export class HubCarrier implements Carrier {
  readonly everyone = '_EVERYONE'
  /** Without a limit no message is sent in parts, so that all words are text. */
  readonly maxPayload = Infinity
  readonly server: string
  isConnected = false
  readonly #port: number
  readonly #listener: CarrierListener
  readonly #held: HeldMessages
  readonly #room = new Room(
    () => this.flush(),
    () => this.isConnected
  )
  readonly #subscriptions = new Map<number, { line: string; receive: Receive }>()
  readonly #consumers = new Map<number, HubListener>()
  #taken: number[] = []
  #next = 1
  #socket: net.Socket | undefined
  /** Commands that the hub has not answered; it answers in order. */
  #asked: { resolve(value: unknown): void; reject(error: Error): void }[] = []
  #isClosed = false

  constructor(port: number, listener: CarrierListener) {
    this.server = `127.0.0.1:${port}`
    this.#port = port
    this.#listener = listener
    this.#held = new HeldMessages(listener)
  }

  async connect(): Promise<void> {
    const socket = net.connect(this.#port, '127.0.0.1').setNoDelay(true)
    this.#socket = socket
    readLines(socket, (line) => this.#read(JSON.parse(line)))
    socket.on('error', () => {}).on('close', () => this.#lost())
    await once(socket, 'connect')
    if (this.#isClosed) return void socket.destroy()
    this.isConnected = true
    for (const { line } of this.#subscriptions.values()) socket.write(line)
    this.#held.release()
  }

  /** The hub is lost: everything that waits for it fails, and reconnecting begins. */
  #lost(): void {
    const lost = new Error(`The hub at ${this.server} is lost`)
    for (const { reject } of this.#asked.splice(0)) reject(lost)
    this.#consumers.clear()
    if (!this.isConnected) return
    this.isConnected = false
    this.#listener.lost()
    void this.#find()
  }

  async #find(): Promise<void> {
    while (!this.#isClosed && !this.isConnected) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      await this.connect().catch(() => {})
    }
    if (this.#isClosed) return
    this.#listener.restored()
    this.#room.resume()
  }

  #read([word, ...rest]: [word: string, ...unknown[]]): void {
    const [value, told] = rest
    if (word === 'answer') return this.#asked.shift()?.resolve(value)
    if (word === 'error') return this.#asked.shift()?.reject(new Error(String(value)))
    try {
      if (word === 'event' || word === 'paused') this.#consumers.get(value as number)?.[word](told)
      else {
        const [id, address, words = '', reply = '', headers] = rest as FromHub
        this.#subscriptions.get(id)?.receive({ address, words, reply, headers, isNobody: word === 'nobody' })
      }
    } catch (error) {
      this.#listener.failed(error)
    }
  }

  newInbox(): string {
    return `_INBOX.${newSecret()}.`
  }

  isInbox(address: string): boolean {
    return address.startsWith('_INBOX.')
  }

  publish(address: string, words: Words, reply?: string, headers?: CarriedHeaders): void {
    this.#send('publish', address, words, reply, headers)
  }

  emit(address: string, packet: string, reply?: string, headers?: CarriedHeaders): void {
    this.#send('emit', address, packet, reply, headers)
  }

  #send(word: string, address: string, words: Words, reply?: string, headers?: CarriedHeaders): void {
    const line = [word, address, textOf(words), reply, headers && joinedHeaders(headers)]
    const text = `${JSON.stringify(line)}\n`
    const send = () => {
      this.#socket?.write(text)
      this.#room.use(text.length)
    }
    if (this.isConnected) send()
    else this.#held.hold(address, text.length, send)
  }

  listen(address: string, receive: Receive): void {
    this.#subscribe(address, '', receive)
  }

  async take(
    subjects: readonly Subject[],
    receive: (subject: Subject, message: Carried) => void
  ): Promise<void> {
    this.#taken = subjects.map((subject) =>
      this.#subscribe(subject.address, subject.queue ?? '', (message) => {
        // A handler of all patterns does not receive the protocol messages of this library.
        if (!message.address.startsWith('_')) receive(subject, message)
      })
    )
    await this.flush()
  }

  #subscribe(address: string, queue: string, receive: Receive): number {
    const id = this.#next++
    const line = `${JSON.stringify(['subscribe', id, address, queue])}\n`
    this.#subscriptions.set(id, { line, receive })
    if (this.isConnected) this.#socket?.write(line)
    return id
  }

  /** The hub answers in order, so all messages that it has sent before the answer arrive before the answer. */
  async leave(): Promise<void> {
    for (const id of this.#taken) this.#socket?.write(`["unsubscribe",${id}]\n`)
    await this.flush().catch(() => {})
    for (const id of this.#taken) this.#subscriptions.delete(id)
  }

  hasRoomFor(sender: Sender): boolean {
    return this.#room.hasRoomFor(sender)
  }

  atTurnEnd(task: () => void): void {
    setImmediate(task)
  }

  async flush(): Promise<void> {
    await this.ask('ping')
  }

  /** Sends a command that the hub answers. Rejects with its error, or if the hub is lost before. */
  ask(...command: unknown[]): Promise<unknown> {
    if (!this.isConnected) return Promise.reject(new Error(`The hub at ${this.server} is lost`))
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject })
      this.#socket?.write(`${JSON.stringify(command)}\n`)
    })
  }

  /** Hears a consumer of stored events, until the hub is lost. @returns its number, for the commands of the store */
  consume(listener: HubListener): number {
    const number = this.#next++
    this.#consumers.set(number, listener)
    return number
  }

  async close(): Promise<void> {
    await this.flush().catch(() => {})
    this.#isClosed = true
    this.isConnected = false
    this.#socket?.destroy()
  }
}

/** The hub on a port of this machine. */
export function engineAt(port: number): Engine<HubCarrier> {
  const where = `127.0.0.1:${port}`
  return {
    name: 'hub',
    title: 'Hub',
    where,
    whyNot(route) {
      if (!route.startsWith('_') && !route.split('.').includes('')) return undefined
      return 'a segment is empty, or it begins with _'
    },
    async open(listener) {
      const carrier = new HubCarrier(port, listener)
      await carrier.connect().catch((cause: Error) => {
        throw new ConnectionError(`Cannot reach Hub at ${where}: ${cause.message}`, false, cause)
      })
      return carrier
    }
  }
}

/** The hub as a transport. */
export function hub(port: number): Transport {
  return engineTransport({
    name: 'hub',
    traits: {
      wildcards: true,
      hearsNobody: true,
      shares: 'engine',
      headers: true,
      channels: true,
      answerHeaders: true
    },
    engine: () => engineAt(port)
  })
}
