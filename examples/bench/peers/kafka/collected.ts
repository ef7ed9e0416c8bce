/** The driver used for speed: messages that come while a batch is under way leave with the next batch. */
import { Producer } from '@platformatic/kafka'

export interface Message {
  readonly topic: string
  readonly key: string
  readonly value: string
}

/** The most bytes of a batch, unless one message alone has more: a broker refuses batches of more than 1,048,588. */
const MOST_TOGETHER = 900 * 1024

/** Sends messages over one producer. */
export function collectedSends(broker: string): {
  send(message: Message): void
  close(): Promise<void>
} {
  const producer = new Producer({ clientId: 'bare', bootstrapBrokers: [broker] })
  const waiting: { readonly topic: string; readonly key: Buffer; readonly value: Buffer }[] = []
  let isUnderWay = false
  async function run(): Promise<void> {
    isUnderWay = true
    // Waits, so that all messages of this turn of the event loop leave together.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      while (waiting.length > 0) await producer.send({ messages: take(), acks: 1 })
    } finally {
      isUnderWay = false
    }
  }
  function take(): typeof waiting {
    let size = 0
    const beyond = waiting.findIndex(({ key, value }, index) => {
      size += key.length + value.length
      return index > 0 && size > MOST_TOGETHER
    })
    return waiting.splice(0, beyond === -1 ? waiting.length : beyond)
  }
  return {
    send({ topic, key, value }) {
      waiting.push({ topic, key: Buffer.from(key), value: Buffer.from(value) })
      // Messages that are lost with the connection are counted as missing answers.
      if (!isUnderWay) run().catch(() => {})
    },
    close: () => producer.close()
  }
}
