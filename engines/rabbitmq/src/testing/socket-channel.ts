/** A channel behind a socket: asks a channel of the fake, and sends what that answers, in the same order. */
import type { DriverChannel, DriverConnection, Properties, QueueSettings, Returned } from '../driver.ts'
import type { Fields, Frame } from './frames.ts'

type Send = (
  name: string,
  fields?: Fields,
  message?: { readonly content: Buffer; readonly properties: Fields }
) => void

interface Publishing {
  readonly fields: Fields
  properties: Fields
  left: number
  readonly parts: Buffer[]
}

/** Arguments of a queue that the driver's interface names. */
const NAMED = { 'x-max-length': 'maxLength', 'x-expires': 'expires', 'x-message-ttl': 'messageTtl' } as const

export class SocketChannel {
  readonly send: Send
  readonly #connection: DriverConnection
  /** It is opened by the first command, which says whether messages are confirmed. */
  #opening: Promise<DriverChannel> | undefined
  #publishing: Publishing | undefined
  #published = 0
  readonly #tags = new Map<string, Promise<string>>()
  #isOver = false

  constructor(connection: DriverConnection, send: Send) {
    this.#connection = connection
    this.send = (...args) => {
      if (!this.#isOver) send(...args)
    }
  }

  handle(name: string | undefined, { fields = {}, size, content }: Frame): void {
    if (this.#isOver) return
    if (name === 'BasicPublish') this.#publishing = { fields, properties: {}, left: 0, parts: [] }
    else if (size !== undefined && this.#publishing !== undefined) {
      this.#publishing.properties = fields
      this.#publishing.left = size
      this.#publishWhole()
    } else if (content !== undefined && this.#publishing !== undefined) {
      this.#publishing.parts.push(content)
      this.#publishing.left -= content.length
      this.#publishWhole()
    } else if (name !== undefined) {
      this.#opening ??= this.#open(name === 'ConfirmSelect')
      void this.#opening.then((channel) => this.#ask(channel, name, fields))
    }
  }

  async #open(isConfirmed: boolean): Promise<DriverChannel> {
    const channel = await this.#connection.openChannel(isConfirmed)
    channel.whenReturned((message) => this.#later(() => this.#returned(message)))
    channel.whenClosed(() => {
      const { failure } = channel
      if (failure === undefined) return
      const [, code = '541'] = /(\d{3}) \(/.exec(failure.message) ?? []
      const [, replyText = failure.message] = /"(.*)"/.exec(failure.message) ?? []
      this.#later(() => {
        this.send('ChannelClose', { replyCode: Number(code), replyText, classId: 0, methodId: 0 })
        this.#isOver = true
      })
    })
    return channel
  }

  /** After the answers that came before, which are promises. */
  #later(task: () => void): void {
    queueMicrotask(task)
  }

  #publishWhole(): void {
    const { fields, properties, left, parts } = this.#publishing as Publishing
    if (left > 0) return
    this.#publishing = undefined
    const { deliveryMode, ...others } = properties
    const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined))
    const whole = { ...given, persistent: deliveryMode === 2, mandatory: fields['mandatory'] === true }
    const number = ++this.#published
    this.#opening ??= this.#open(false)
    void this.#opening.then((channel) =>
      channel.publish(
        String(fields['exchange']),
        String(fields['routingKey']),
        Buffer.concat(parts),
        whole as Properties,
        (error) => this.#later(() => this.send(error ? 'BasicNack' : 'BasicAck', { deliveryTag: number }))
      )
    )
  }

  #returned({ content, fields: { routingKey }, properties }: Returned): void {
    const fields = { replyCode: 312, replyText: 'NO_ROUTE', exchange: '', routingKey }
    this.send('BasicReturn', fields, { content, properties: { ...properties } })
  }

  #ask(channel: DriverChannel, name: string, fields: Fields): void {
    const text = (field: string) => String(fields[field])
    const answer = (asked: Promise<unknown>, reply: string, more: Fields = {}) =>
      void asked.then(
        () => this.send(reply, more),
        () => {}
      )
    const declare = () => {
      const queue = text('queue')
      const state =
        fields['passive'] === true
          ? channel.checkQueue(queue)
          : channel.declareQueue(queue, settingsOf(fields))
      state.then(
        (found) => this.send('QueueDeclareOk', { queue, ...found }),
        () => {}
      )
    }
    const tag = fields['deliveryTag'] as number
    const from = [text('queue'), text('exchange'), text('routingKey')] as const
    const commands: Readonly<Record<string, () => void>> = {
      ConfirmSelect: () => this.send('ConfirmSelectOk'),
      ChannelClose: () => answer(channel.close(), 'ChannelCloseOk'),
      ExchangeDeclare: () =>
        answer(
          fields['passive'] === true
            ? channel.checkExchange(text('exchange'))
            : channel.declareExchange(text('exchange'), text('type') as 'topic'),
          'ExchangeDeclareOk'
        ),
      ExchangeBind: () =>
        answer(
          channel.bindExchange(text('destination'), text('source'), text('routingKey')),
          'ExchangeBindOk'
        ),
      QueueDeclare: declare,
      QueueBind: () => answer(channel.bindQueue(...from), 'QueueBindOk'),
      QueueUnbind: () => answer(channel.unbindQueue(...from), 'QueueUnbindOk'),
      QueuePurge: () => answer(channel.purgeQueue(text('queue')), 'QueuePurgeOk', { messageCount: 0 }),
      QueueDelete: () => answer(channel.deleteQueue(text('queue')), 'QueueDeleteOk', { messageCount: 0 }),
      BasicQos: () => answer(channel.prefetch(fields['prefetchCount'] as number), 'BasicQosOk'),
      BasicConsume: () => this.#consume(channel, text('queue'), fields['noAck'] === true),
      BasicCancel: () => void this.#cancel(channel, text('consumerTag')),
      BasicGet: () => this.#get(channel, text('queue')),
      BasicAck: () => channel.acknowledge(tag, fields['multiple'] === true),
      BasicNack: () => (fields['requeue'] === true ? channel.giveBack(tag) : channel.reject(tag))
    }
    try {
      commands[name]?.()
    } catch {
      // The channel is closed, which the client hears.
    }
  }

  #consume(channel: DriverChannel, queue: string, noAck: boolean): void {
    const consumerTag = `tag ${this.#tags.size}`
    const consuming = channel.consume(
      queue,
      (message) =>
        this.#later(() => {
          if (message === null) return this.send('BasicCancel', { consumerTag, nowait: true })
          const { content, fields, properties } = message
          this.send(
            'BasicDeliver',
            { consumerTag, exchange: '', ...fields },
            { content, properties: { ...properties } }
          )
        }),
      noAck
    )
    this.#tags.set(consumerTag, consuming)
    consuming.then(
      () => this.send('BasicConsumeOk', { consumerTag }),
      () => {}
    )
  }

  async #cancel(channel: DriverChannel, consumerTag: string): Promise<void> {
    const tag = await this.#tags.get(consumerTag)
    channel.cancel(tag ?? '').then(
      () => this.send('BasicCancelOk', { consumerTag }),
      () => {}
    )
  }

  #get(channel: DriverChannel, queue: string): void {
    channel.get(queue).then(
      (message) => {
        if (message === undefined) return this.send('BasicGetEmpty')
        const { content, fields, properties } = message
        const more = { exchange: '', messageCount: 0, ...fields }
        this.send('BasicGetOk', more, { content, properties: { ...properties } })
      },
      () => {}
    )
  }
}

function settingsOf(fields: Fields): QueueSettings {
  const { durable, exclusive, autoDelete } = fields as QueueSettings
  const given = Object.entries(Object(fields['arguments']) as Fields)
  const named = given.flatMap(([name, value]) => {
    const own = NAMED[name as keyof typeof NAMED]
    return own === undefined ? [] : [[own, value] as const]
  })
  const others = given.filter(([name]) => !(name in NAMED))
  return {
    ...{ durable: durable === true, exclusive: exclusive === true, autoDelete: autoDelete === true },
    ...Object.fromEntries(named),
    ...(others.length > 0 && { arguments: Object.fromEntries(others) })
  }
}
