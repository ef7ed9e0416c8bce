/** Strangers: programs on an engine that do not use this library, and publish and read what they like. */
import net from 'node:net'
import { connect, headers as newHeaders } from '@nats-io/transport-node'
import { connect as connectToRabbitmq, type Options } from 'amqplib'
import { Redis } from 'ioredis'
import { connectAsync as connectToMqtt } from 'mqtt'
import { sharedRabbitmq } from '../support/rabbitmq-server.ts'
import { Tap, type Tapped } from '../support/rabbitmq-tap.ts'
import { readLines } from './hub-engine.ts'

/** A message that a stranger has read. */
export interface Overheard {
  readonly address: string
  readonly words: string
  readonly reply: string
}

/** A program that may publish and listen everywhere. */
export interface Stranger {
  publish(address: string, words: string, reply?: string, headers?: Record<string, string>): void
  /** @param address a pattern with wildcards */
  listen(address: string, hear: (message: Overheard) => void): void
  /** Resolves when the engine has all that was published. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** How strangers use an engine. */
export interface StrangersOf {
  enter(port: number): Promise<Stranger>
  /** The address on which all services listen. */
  readonly everyone: string
  /** The address for several requests in one message; `undefined`: there is none. */
  together?(address: string): string
  /** Addresses to which no answer may be published, even if a caller names them. */
  readonly forbidden: readonly string[]
  /** An inbox with this name, with the dot at its end. */
  inbox(name: string): string
  /** The inbox at the beginning of an address; `undefined`: there is none. */
  inboxIn(address: string): string | undefined
}

/** For engines whose inboxes begin with `_INBOX`. */
const byName: Pick<StrangersOf, 'inbox' | 'inboxIn'> = {
  inbox: (name) => `_INBOX.calls.${name}.`,
  inboxIn: (address) => /^_INBOX\.(calls\.)?[^.]+\./.exec(address)?.[0]
}

export const strangersOfNats: StrangersOf = {
  ...byName,
  everyone: '_ELYSIA.CALLS',
  together: (address) => `_ELYSIA.TOGETHER.${address}`,
  forbidden: [
    '$JS.API.STREAM.DELETE.orders',
    '$JS.API.CONSUMER.CREATE.orders',
    '$SYS.REQ.USER.INFO',
    '_ELYSIA.AGAIN.shop_paid',
    '_ELYSIA.DEAD.shop.shop_paid',
    '_ELYSIA.CALLS',
    'echo',
    '_INBOX',
    '_INBOX.',
    '_INBOX..x',
    '_INBOX.x.',
    '_INBOX.*',
    '_INBOX.>',
    '*',
    '>',
    `_INBOX.${'x'.repeat(3_500)}`,
    `_INBOX.${'y'.repeat(5_000)}`
  ],
  async enter(port) {
    const driver = await connect({ port, maxReconnectAttempts: -1, reconnectTimeWait: 10 })
    return {
      publish(address, words, reply, given) {
        const headers = newHeaders()
        for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value)
        driver.publish(address, words, { ...(reply && { reply }), ...(given && { headers }) })
      },
      listen(address, hear) {
        driver.subscribe(address, {
          callback(error, message) {
            if (error === null)
              hear({ address: message.subject, words: message.string(), reply: message.reply ?? '' })
          }
        })
      },
      flush: () => driver.flush(),
      close: () => driver.close()
    }
  }
}

export const strangersOfHub: StrangersOf = {
  ...byName,
  everyone: '_EVERYONE',
  forbidden: ['echo', '_EVERYONE', '_INBOX', ' ', `_INBOX.${'x'.repeat(5_000)}`],
  async enter(port) {
    const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    const hearing: ((message: Overheard) => void)[] = []
    const flushed: (() => void)[] = []
    // A message that is published after the hub has closed the connection is lost, and nobody waits for it.
    socket.on('error', () => {})
    readLines(socket, (line) => {
      const [word, id, address, words, reply] = JSON.parse(line)
      if (word === 'answer') flushed.shift()?.()
      else if (word === 'message') hearing[id]?.({ address, words, reply })
    })
    const say = (...line: unknown[]) => void socket.write(`${JSON.stringify(line)}\n`)
    return {
      publish: (address, words, reply, headers) => say('publish', address, words, reply, headers),
      listen: (address, hear) => say('subscribe', hearing.push(hear) - 1, address, ''),
      flush() {
        say('ping')
        return new Promise((resolve) => flushed.push(resolve))
      },
      async close() {
        socket.end()
      }
    }
  }
}

/** A message of this library on a channel of Redis: address, reply address, headers, text. */
const FRAME = /^([^\n]*)\n([^\n]*)\n([^\n]*)\n([\s\S]*)$/

/** A name with only the letters that secrets have. */
function inLetters(name: string): string {
  const letters = [...name].map((letter) => String.fromCharCode(97 + (letter.charCodeAt(0) % 26)))
  return letters.join('') + 'a'.repeat(12)
}

export const strangersOfRedis: StrangersOf = {
  everyone: '_elysia:everyone',
  together: (address) => address,
  forbidden: [
    'echo',
    'echo.reply',
    '*',
    '_elysia:everyone',
    '_elysia:changes',
    '_elysia:s:m:shop:abcdefghijkl:echo',
    '_elysia:n:echo.reply',
    '_elysia:t:echo',
    '_elysia:{events}:groups',
    '_elysia:i:',
    '_elysia:i:short.x',
    '_elysia:i:abcdefghijkl',
    '_elysia:i:abcdefghijkl.',
    '_elysia:i:ABCDEFGHIJKL.x',
    `_elysia:i:abcdefghijkl.${'x'.repeat(3_500)}`
  ],
  inbox: (name) => `_elysia:i:${inLetters(name)}.`,
  inboxIn: (address) => /^_elysia:i:[^.]+\./.exec(address)?.[0],
  async enter(port) {
    const options = { port, host: '127.0.0.1', enableAutoPipelining: true }
    const [commands, hearing] = [new Redis(options), new Redis(options)]
    const listeners: ((message: Overheard) => void)[] = []
    const services = (await commands.pubsub('CHANNELS', '_elysia:s:m:*')) as string[]
    let last: Promise<unknown> = Promise.resolve()
    hearing.on('pmessage', (_, channel: string, text: string) => {
      const frame = channel.startsWith('_elysia:') ? FRAME.exec(text) : null
      const [address, reply, words] =
        frame === null
          ? [channel, '', text]
          : [channel.startsWith('_elysia:i:') ? `${channel}.${frame[1]}` : channel, frame[2], frame[4]]
      for (const hear of listeners) hear({ address, words: words ?? '', reply: reply ?? '' })
    })
    await hearing.psubscribe('*')
    return {
      publish(address, words, reply = '', headers) {
        const isInbox = address.startsWith('_elysia:i:')
        const dot = address.indexOf('.')
        const channel = isInbox ? address.slice(0, dot) : services.find((one) => one.endsWith(`:${address}`))
        const behind = isInbox ? address.slice(dot + 1) : address
        const json = headers === undefined ? '' : JSON.stringify(headers)
        const frame = `${behind}\n${reply}\n${json}\n${words}`
        last = commands.publish(channel ?? address, frame)
        last.catch(() => {})
      },
      listen: (_, hear) => void listeners.push(hear),
      async flush() {
        await last
        await hearing.ping()
      },
      async close() {
        commands.disconnect()
        hearing.disconnect()
      }
    }
  }
}

/** An inbox over RabbitMQ, which a message names in two properties: queue and correlation id. */
const RABBITMQ_INBOX = /^(_elysia\.i\.[^.]+)\.(.*)$/

export const strangersOfRabbitmq: StrangersOf = {
  everyone: '_elysia.everyone',
  together: (address) => address,
  forbidden: [
    'echo',
    'victim',
    'amq.topic',
    '_elysia',
    '_elysia.everyone',
    '_elysia.inboxes',
    '_elysia.stored',
    '_elysia.s.shop:echo',
    '_elysia.d.shop:seen',
    '_elysia.dead.shop',
    '_elysia.i.',
    '_elysia.i.short.x',
    '_elysia.i.abcdefghijkl.',
    '_elysia.i.ABCDEFGHIJKL.x',
    '_elysia.i.abcdefghijkl.a b',
    '_elysia.n.victim\nx',
    '*',
    '#'
  ],
  inbox: (name) => `_elysia.i.${inLetters(name)}.`,
  inboxIn: (address) => /^_elysia\.i\.[^.]+\./.exec(address)?.[0],
  async enter() {
    const server = await sharedRabbitmq()
    const listeners: ((message: Overheard) => void)[] = []
    const tap = await Tap.open(server, (message) => {
      for (const one of overheardOnRabbitmq(message)) for (const hear of listeners) hear(one)
    })
    const driver = await connectToRabbitmq(server.url)
    const channel = await driver.createChannel()
    // RabbitMQ returns a message that no queue takes to its sender; the stranger reads all others from this queue.
    const { queue: own } = await channel.assertQueue('', { exclusive: true, maxLength: 1 })
    for (const name of ['me', 'stranger'])
      await channel.bindQueue(own, '_elysia.inboxes', `_elysia.i.${inLetters(name)}`)
    return {
      publish(address, words, reply, headers) {
        const [, queue, correlationId] = RABBITMQ_INBOX.exec(address) ?? []
        const [, replyTo, ofReply] = RABBITMQ_INBOX.exec(reply ?? '') ?? []
        const asked =
          queue === undefined && address !== '_elysia.everyone'
            ? { replyTo: replyTo ?? reply, correlationId: replyTo === undefined ? 'x' : ofReply }
            : { messageId: reply, correlationId }
        const exchange =
          queue === undefined ? (address === '_elysia.everyone' ? address : '_elysia') : '_elysia.inboxes'
        const given = Object.entries({ ...asked, headers }).filter(([, value]) => value !== undefined)
        const options: Options.Publish = Object.fromEntries(given)
        channel.publish(exchange, queue ?? address, Buffer.from(words), options)
      },
      listen: (_, hear) => void listeners.push(hear),
      async flush() {
        // A channel handles commands in order, so this answer comes after all published messages.
        await channel.prefetch(0)
      },
      async close() {
        // A stranger that reads a message might answer it.
        listeners.length = 0
        await tap.close()
        await driver.close()
      }
    }
  }
}

/** A message with the addresses in this library's form, in all forms that fit the message. */
function overheardOnRabbitmq({ exchange, key, properties, body }: Tapped): Overheard[] {
  const text = (name: string) => String(properties[name] ?? '')
  const correlation = text('correlation_id')
  const message = { words: body, reply: text('message_id') }
  if (exchange === '_elysia.inboxes') return [{ ...message, address: `${key}.${correlation}` }]
  if (exchange === '')
    return [key, `_elysia.n.${key}\n${correlation}`].map((address) => ({ ...message, address }))
  if (exchange !== '_elysia') return [{ ...message, address: exchange }]
  const replyTo = text('reply_to')
  const reply = /^_elysia\.i\.[^.]+$/.test(replyTo) ? `${replyTo}.${correlation}` : replyTo
  return [{ ...message, address: key, reply }]
}

/** An inbox over MQTT, which a message names in two properties: topic and correlation data. */
const MQTT_INBOX = /^(_elysia\/i\/[^.]+)\.(.*)$/

export const strangersOfMqtt: StrangersOf = {
  everyone: '_elysia/everyone',
  together: (address) => `_elysia/t/${address}`,
  forbidden: [
    'echo',
    'echo/reply/x',
    'other/reply',
    '#',
    '+',
    '$SYS/broker',
    '_elysia/everyone',
    '_elysia/t/echo',
    '_elysia/n/echo\n',
    '_elysia/i/',
    '_elysia/i/short.x',
    '_elysia/i/abcdefghijkl',
    '_elysia/i/abcdefghijkl.',
    '_elysia/i/ABCDEFGHIJKL.x',
    `_elysia/i/abcdefghijkl.${'x'.repeat(3_500)} y`
  ],
  inbox: (name) => `_elysia/i/${inLetters(name)}.`,
  inboxIn: (address) => /^_elysia\/i\/[^.]+\./.exec(address)?.[0],
  async enter(port) {
    const driver = await connectToMqtt(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5 })
    driver.on('error', () => {})
    const listeners: ((message: Overheard) => void)[] = []
    driver.on('message', (topic, bytes, { properties }) => {
      const correlation = properties?.correlationData?.toString() ?? ''
      const from = properties?.responseTopic
      const isInbox = topic.startsWith('_elysia/i/')
      const [token = '', ofReply = ''] = isInbox ? correlation.split(' ') : ['', correlation]
      const reply = from === undefined ? '' : from.startsWith('_elysia/i/') ? `${from}.${ofReply}` : from
      const address = isInbox ? `${topic}.${token}` : topic
      for (const hear of listeners) hear({ address, words: bytes.toString(), reply })
    })
    await driver.subscribeAsync('#')
    return {
      publish(address, words, reply, headers) {
        const [, topic = address, token] = MQTT_INBOX.exec(address) ?? []
        const [, responseTopic = reply, ofReply] = MQTT_INBOX.exec(reply ?? '') ?? []
        const correlation = [token, ofReply].filter((one) => one !== undefined).join(' ')
        driver.publish(topic, words, {
          properties: {
            ...(responseTopic !== undefined && responseTopic !== '' && { responseTopic }),
            ...(correlation !== '' && { correlationData: Buffer.from(correlation) }),
            ...(headers && { userProperties: headers })
          }
        })
      },
      listen: (_, hear) => void listeners.push(hear),
      // The server answers in order, so this answer comes after all published messages.
      flush: async () => void (await driver.subscribeAsync('_')),
      async close() {
        listeners.length = 0
        await driver.endAsync()
      }
    }
  }
}
