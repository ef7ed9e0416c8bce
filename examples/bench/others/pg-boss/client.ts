/**
 * pg-boss, used for speed: jobs are fetched and completed by its own functions, in batches, half of the window being
 * fetched while the other half is handled. Its `work()` waits for half a second or more between two batches.
 */
import PgBoss from 'pg-boss'
import { PATTERN } from '../../peers/durable/stream.ts'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import {
  addressOf,
  CONNECTIONS,
  fillTables,
  inTransaction,
  openPool,
  TAKES_AT_MOST
} from '../../peers/postgres/database.ts'

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window, task }) => {
  const connectionString = addressOf(host, port)
  const pool = await openPool(connectionString)
  const boss = new PgBoss({ connectionString, max: CONNECTIONS })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(PATTERN)
  let isClosed = false
  async function takeAll(take: (data: unknown) => void): Promise<void> {
    while (!isClosed) {
      const jobs = await boss.fetch<{ data: unknown }>(PATTERN, { batchSize: Math.ceil(window / 2) })
      for (const { data } of jobs) take(data.data)
      const ids = jobs.map(({ id }) => id)
      if (ids.length > 0) await boss.complete(PATTERN, ids)
    }
  }
  const isInTransaction = task.mode === 'durable' && task.step === 'transact'
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    takesAtMost: TAKES_AT_MOST,
    emit: isInTransaction
      ? (data) =>
          inTransaction(pool, (client) =>
            boss.send(
              PATTERN,
              { data },
              {
                db: { executeSql: (text, values) => client.query(text, values) }
              }
            )
          )
      : (data) => boss.send(PATTERN, { data }),
    fill: (count) =>
      fillTables(pool, count, (part) =>
        boss.insert(Array.from({ length: part }, () => ({ name: PATTERN, data: { data: payload.value } })))
      ),
    async takeStored(take) {
      // Calls that fail with the connection at the end do not matter.
      for (let fetchers = 2; fetchers > 0; fetchers--) takeAll(take).catch(() => {})
    },
    async close() {
      isClosed = true
      await boss.stop({ graceful: false })
      await pool.end()
    }
  }
}
