/** ioredis alone, used for speed: one channel for answers, own ids, pipelines, no timer. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { OpenEchoClient } from '../echo-client.ts'

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const options = { host, port, enableAutoPipelining: true }
  const [commands, hearing] = [new Redis(options), new Redis(options)]
  const reply = randomUUID()
  const waiting = new Map<number, Waiting>()
  let last = 0
  hearing.on('message', (_channel, text) => {
    const { id, data } = JSON.parse(text) as { id: number; data: unknown }
    const call = waiting.get(id)
    waiting.delete(id)
    call?.answered(data)
  })
  hearing.once('close', () => {
    for (const { failed } of waiting.values()) failed(new Error('The connection is lost'))
    waiting.clear()
  })
  await hearing.subscribe(reply)
  return {
    echo(payload, answered, failed) {
      const id = ++last
      waiting.set(id, { answered, failed })
      commands.publish('echo', JSON.stringify({ reply, id, data: payload })).catch(failed)
    },
    async close() {
      commands.disconnect()
      hearing.disconnect()
    }
  }
}
