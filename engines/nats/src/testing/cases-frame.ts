/** A server for the cases of a driver, and the connections that a case opens. */
import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream'
import type { Driver, DriverConnection, DriverListener, JetStream, Message } from '../driver.ts'
import { readPlace } from '../durable/stored.ts'
import { natsOptions } from '../options/options.ts'
import { headersIn } from '../words/headers.ts'

/** A server for the cases. Nobody may publish to `cases.forbidden`, or subscribe to it. */
export interface ServerForCases {
  readonly driver: Driver
  readonly url: string
  /**
   * Ends the server at once, and starts it again.
   * @param delivered a consumer with a delivery, which the server must have written before it ends
   */
  restart(delivered?: readonly [stream: string, consumer: string]): Promise<void>
  /** Lets time pass at the server. */
  pass(milliseconds: number): Promise<void>
}

/** Notes happenings, as words in their order. */
export class Recorded {
  readonly said: string[] = []
  #changed: (() => void)[] = []

  note(words: string): void {
    this.said.push(words)
    for (const resolve of this.#changed.splice(0)) resolve()
  }

  /** Resolves when so much has been said. */
  async count(count: number): Promise<string[]> {
    while (this.said.length < count) await new Promise<void>((resolve) => this.#changed.push(resolve))
    return this.said
  }

  /** Resolves when something has been said. */
  async until(words: string): Promise<void> {
    while (!this.said.includes(words)) await new Promise<void>((resolve) => this.#changed.push(resolve))
  }
}

/** A connection, with what has happened to it. */
export class Recording extends Recorded implements DriverListener {
  connection!: DriverConnection

  lost = (): void => this.note('lost')
  restored = (): void => this.note('restored')
  ended = (error: Error | undefined): void =>
    this.note(`ended${error === undefined ? '' : ` ${error.message}`}`)
  refused = (subject: string, operation: string): void => this.note(`${operation} ${subject}`)

  /** Publishes a text. */
  publish(subject: string, text: string, reply?: string, headers?: Message['headers']): void {
    this.connection.publish(subject, new TextEncoder().encode(text), reply, headers)
  }

  /** Subscribes, and notes each message by its subject and text, or as a status. */
  listen(subject: string, queue?: string): Recorded {
    const heard = new Recorded()
    this.connection.subscribe(subject, queue, (error, message) =>
      heard.note(error === null ? textOf(message) : `refused ${error.name}`)
    )
    return heard
  }

  /** The answer to a message. */
  async ask(subject: string, text: string, headers?: Message['headers']): Promise<string> {
    const inbox = newInbox()
    const heard = this.listen(inbox)
    this.publish(subject, text, inbox, headers)
    const [answer = ''] = await heard.count(1)
    return answer.replace(`${inbox} `, '')
  }
}

let inboxes = 0
const newInbox = () => `_INBOX.cases${process.pid}.${++inboxes}`

function textOf(message: Message): string {
  const headers = headersIn(message)
  if (message.data.length === 0 && headers && headers.code !== 0)
    return `${headers.code} ${headers.description}`
  return `${message.subject} ${new TextDecoder().decode(message.data)}`
}

/** A process that requests the messages of a consumer. */
export class Puller extends Recorded {
  /** The deliveries. */
  readonly got: { readonly text: string; readonly reply: string; readonly pin: string | undefined }[] = []
  readonly stream: string
  readonly consumer: string
  readonly #recording: Recording
  readonly #subject: string
  readonly #inbox = newInbox()

  constructor(recording: Recording, stream: string, consumer: string) {
    super()
    this.stream = stream
    this.consumer = consumer
    this.#recording = recording
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
    recording.connection.subscribe(this.#inbox, undefined, (_, message) => {
      const place = readPlace(message.reply ?? '')
      if (place === undefined) return this.note(textOf(message))
      const text = new TextDecoder().decode(message.data)
      const pin = headersIn(message)?.get('Nats-Pin-Id') || undefined
      this.got.push({ text, reply: message.reply as string, pin })
      this.note(`${text} ${place.deliveries}`)
    })
  }

  /** Requests messages. Times are in milliseconds. */
  request(batch: number, { expires = 30_000, heartbeat = 0, ...more }: RequestOptions = {}): void {
    const times = { expires: expires * 1e6, ...(heartbeat > 0 && { idle_heartbeat: heartbeat * 1e6 }) }
    this.#recording.publish(this.#subject, JSON.stringify({ batch, ...times, ...more }), this.#inbox)
  }

  /** Says what became of a delivery. */
  say(words: string, delivery: number): void {
    this.#recording.publish(this.got[delivery]?.reply ?? '', words)
  }

  /** Says what became of a delivery. Resolves when the server has done it, which may be after a flush. */
  async tell(words: string, delivery: number): Promise<void> {
    await this.#recording.ask(this.got[delivery]?.reply ?? '', words)
  }
}

interface RequestOptions {
  readonly expires?: number
  readonly heartbeat?: number
  readonly max_bytes?: number
  readonly group?: string
  readonly id?: string
}

/** Opens connections, which are closed by `close`, and deletes the consumers of streams. */
export class Opened {
  readonly #open: () => Promise<ServerForCases>
  readonly #all: DriverConnection[] = []

  constructor(open: () => Promise<ServerForCases>) {
    this.#open = open
  }

  server(): Promise<ServerForCases> {
    return this.#open()
  }

  async connect({ driver, url }: ServerForCases): Promise<Recording> {
    const recording = new Recording()
    recording.connection = await driver.connect(natsOptions({ servers: url }).connection, recording)
    this.#all.push(recording.connection)
    return recording
  }

  close = async (): Promise<void> => {
    for (const connection of this.#all.splice(0)) await connection.close()
  }
}

let streams = 0

/** A stream of its own for a case: its subjects are `<name>.*`. */
export async function newStream(
  jetStream: JetStream,
  config: Partial<StreamConfig> = {}
): Promise<{ readonly name: string; join(config?: Partial<ConsumerConfig>): Promise<string> }> {
  const name = `cases${process.pid}-${++streams}`
  await jetStream.addStream({ name, subjects: [`${name}.*`], storage: 'memory', ...config } as {
    name: string
  })
  let consumers = 0
  return {
    name,
    async join(given = {}) {
      const durable_name = `c${++consumers}`
      await jetStream.addConsumer(name, { ack_policy: 'explicit', ack_wait: 3e10, ...given, durable_name })
      return durable_name
    }
  }
}
