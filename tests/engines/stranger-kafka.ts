/** Strangers on Kafka: kafkajs, with rights to write and read all topics. */
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import type { Overheard, StrangersOf } from './stranger.ts'

const INBOX = /^(_elysia\.inbox)\/(\d+)\/(.*)$/s
let count = 0

/** The secrets of inboxes have this number of letters. */
function inLetters(name: string): string {
  const letters = [...name].map((letter) => String.fromCharCode(97 + (letter.charCodeAt(0) % 26)))
  return letters.join('').padEnd(24, 'a')
}

export const strangersOfKafka: StrangersOf = {
  everyone: '_elysia.everyone',
  forbidden: [
    // A topic of requests: an answer in this topic would look like a request.
    'seen',
    'echo.reply.x',
    'other.reply',
    '_elysia.groups',
    '_elysia.everyone',
    '__consumer_offsets',
    '>echo.reply/0/x',
    '_elysia.inbox/0/short.x',
    `_elysia.inbox/x/${inLetters('a')}.x`,
    `_elysia.inbox/0/${inLetters('a').toUpperCase()}.x`,
    `_elysia.inbox/0/${inLetters('a')}.${'x'.repeat(3_500)} y`
  ],
  inbox: (name) => `_elysia.inbox/0/${inLetters(name)}.`,
  inboxIn: (address) => /^_elysia\.inbox\/\d+\/[^.]+\./.exec(address)?.[0],
  async enter(port) {
    const driver = new Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: logLevel.NOTHING })
    const producer = driver.producer({ createPartitioner: Partitioners.DefaultPartitioner })
    const consumer = driver.consumer({ groupId: `stranger-${process.pid}-${count++}`, maxWaitTimeInMs: 50 })
    const listeners: ((message: Overheard) => void)[] = []
    await producer.connect()
    await consumer.subscribe({ topics: [/^(?!__)/] })
    const listening = new Promise<void>((resolve) => {
      const { FETCH } = consumer.events
      consumer.on(FETCH, () => resolve())
    })
    await consumer.run({
      async eachMessage({ topic, partition, message: { key, value, headers = {} } }) {
        const said = (name: string) => headers[name]?.toString()
        const isInbox = topic === '_elysia.inbox'
        const address = isInbox ? `${topic}/${partition}/${key}` : topic
        const wanted = said('kafka_replyTopic')
        const reply =
          said('elysia-reply') ??
          (wanted?.startsWith('_elysia.')
            ? `${wanted}/${said('kafka_replyPartition')}/${said('kafka_correlationId')}`
            : (wanted ?? ''))
        for (const hear of listeners) hear({ address, words: value?.toString() ?? '', reply })
      }
    })
    let last: Promise<unknown> = listening
    return {
      publish(address, words, reply, given) {
        const [, inbox, partition, token] = INBOX.exec(address) ?? []
        const [, replyTopic = reply, replyPartition = '0', ofReply = 'x'] = INBOX.exec(reply ?? '') ?? []
        const isOurs = inbox !== undefined || address === '_elysia.everyone'
        const asking = isOurs
          ? { 'elysia-reply': reply ?? '' }
          : {
              kafka_replyTopic: replyTopic ?? '',
              kafka_replyPartition: replyPartition,
              kafka_correlationId: ofReply
            }
        const headers = {
          ...given,
          ...(isOurs ? {} : { 'elysia-words': '1' }),
          ...(reply !== undefined && reply !== '' && asking)
        }
        const message = {
          value: words,
          headers,
          ...(token !== undefined && { key: token }),
          ...(partition !== undefined && { partition: Number(partition) })
        }
        const sent = producer.send({ topic: inbox ?? address, messages: [message], acks: 1 }).catch(() => {})
        last = Promise.all([last, sent])
      },
      listen: (_, hear) => void listeners.push(hear),
      async flush() {
        await last
      },
      async close() {
        listeners.length = 0
        await last
        await Promise.all([producer.disconnect(), consumer.disconnect()])
      }
    }
  }
}
