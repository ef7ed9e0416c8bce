/** The driver at its best: what comes while a batch is under way leaves with the next. */
import { Producer } from '@platformatic/kafka'

export interface Message {
  readonly topic: string
  readonly key: string
  readonly value: string
}

/** Sends messages over one producer. */
export function collectedSends(broker: string): {
  send(message: Message): void
  close(): Promise<void>
} {
  const producer = new Producer({ clientId: 'bare', bootstrapBrokers: [broker] })
  let waiting: Message[] = []
  let isUnderWay = false
  async function run(): Promise<void> {
    isUnderWay = true
    // Messages of this turn leave together.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const messages = waiting.map(({ topic, key, value }) => ({
        topic,
        key: Buffer.from(key),
        value: Buffer.from(value)
      }))
      waiting = []
      await producer.send({ messages, acks: 1 })
    }
    isUnderWay = false
  }
  return {
    send(message) {
      waiting.push(message)
      // Messages that are lost with the connection are counted by those who wait for their answers.
      if (!isUnderWay) run().catch(() => {})
    },
    close: () => producer.close()
  }
}
