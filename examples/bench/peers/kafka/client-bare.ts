/**
 * @platformatic/kafka alone, used for speed: batches, one topic for all answers of which each client picks its own,
 * no timer.
 */
import { randomUUID } from 'node:crypto'
import { Consumer } from '@platformatic/kafka'
import type { OpenEchoClient } from '../echo-client.ts'
import { collectedSends } from './collected.ts'

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const broker = `${host}:${port}`
  const requests = collectedSends(broker)
  const own = randomUUID()
  const consumer = new Consumer({ groupId: own, clientId: 'bare', bootstrapBrokers: [broker] })
  const stream = await consumer.consume({
    topics: ['answers'],
    mode: 'latest',
    autocommit: false,
    maxWaitTime: 500
  })
  const waiting = new Map<string, Waiting>()
  let last = 0
  stream.on('data', ({ key, value }) => {
    const id = String(key)
    const call = waiting.get(id)
    waiting.delete(id)
    call?.answered(JSON.parse(String(value)))
  })
  stream.on('error', () => {
    for (const { failed } of waiting.values()) failed(new Error('The connection is lost'))
    waiting.clear()
  })
  return {
    echo(payload, answered, failed) {
      const id = `${own} ${++last}`
      waiting.set(id, { answered, failed })
      requests.send({ topic: 'echo', key: id, value: JSON.stringify(payload) })
    },
    async close() {
      await consumer.close(true)
      await requests.close()
    }
  }
}
