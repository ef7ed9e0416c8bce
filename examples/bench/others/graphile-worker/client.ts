/**
 * graphile-worker with the settings that its documentation names for speed: a local queue, and jobs that are completed
 * in batches.
 */
import { Logger, makeWorkerUtils, type Runner, run } from 'graphile-worker'
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

const logger = new Logger(() => () => {})

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window, task }) => {
  const connectionString = addressOf(host, port)
  const pool = await openPool(connectionString)
  const jobs = await makeWorkerUtils({ connectionString, maxPoolSize: CONNECTIONS, logger })
  await jobs.migrate()
  let runner: Runner | undefined
  const isInTransaction = task.mode === 'durable' && task.step === 'transact'
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Events have no answers')),
    takesAtMost: TAKES_AT_MOST,
    emit: isInTransaction
      ? (data) =>
          inTransaction(pool, (client) =>
            client.query('select graphile_worker.add_job($1, $2::json)', [PATTERN, JSON.stringify(data)])
          )
      : (data) => jobs.addJob(PATTERN, data),
    fill: (count) =>
      fillTables(pool, count, (part) =>
        jobs.addJobs(Array.from({ length: part }, () => ({ identifier: PATTERN, payload: payload.value })))
      ),
    async takeStored(take) {
      runner = await run({
        preset: {
          worker: {
            connectionString,
            maxPoolSize: CONNECTIONS,
            concurrentJobs: Math.ceil(window / 2),
            localQueue: { size: window },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0
          }
        },
        taskList: { [PATTERN]: async (data) => take(data) },
        noHandleSignals: true,
        logger
      })
    },
    async close() {
      await runner?.stop()
      await jobs.release()
      await pool.end()
    }
  }
}
