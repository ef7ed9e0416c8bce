/** BullMQ: a job for each event, deleted when it is done, and one worker. */
import { Queue, Worker } from 'bullmq'
import { PATTERN } from '../../peers/durable/stream.ts'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { inParts, TAKES_AT_MOST } from '../../peers/postgres/database.ts'

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const connection = { host, port }
  const queue = new Queue(PATTERN, { connection, defaultJobOptions: { removeOnComplete: true } })
  await queue.waitUntilReady()
  let worker: Worker | undefined
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    takesAtMost: TAKES_AT_MOST,
    emit: (data) => queue.add(PATTERN, data),
    fill: (count) =>
      inParts(count, (part) =>
        queue.addBulk(Array.from({ length: part }, () => ({ name: PATTERN, data: payload.value })))
      ),
    async takeStored(take) {
      worker = new Worker(PATTERN, async ({ data }) => take(data), { connection, concurrency: window })
      worker.on('error', () => {})
    },
    async close() {
      await worker?.close(true)
      await queue.close()
    }
  }
}
