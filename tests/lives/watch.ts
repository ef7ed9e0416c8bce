/** Notices a life in which the event loop never gets its turn again, from a thread of its own. */
import { Worker } from 'node:worker_threads'

/** Seconds for one life; the longest take some. */
const MOST = 180

const CODE = `
const { workerData } = require('node:worker_threads')
const { writeSync } = require('node:fs')
const { seen, most } = workerData
let before = -1
let seconds = 0
setInterval(() => {
  const now = Atomics.load(seen, 0)
  seconds = now === before ? seconds + 1 : 0
  before = now
  if (seconds < most) return
  writeSync(1, 'seed ' + Atomics.load(seen, 1) + ': the event loop has stood still for ' + most + ' s\\n')
  process.kill(process.pid, 'SIGKILL')
}, 1000)
`

/** Looks after the lives that follow. @returns a function to call with the seed of each life, before it begins */
export function watched(most = MOST): (seed: number) => void {
  const seen = new Int32Array(new SharedArrayBuffer(8))
  new Worker(CODE, { eval: true, workerData: { seen, most } }).unref()
  return (seed) => {
    Atomics.store(seen, 1, seed)
    Atomics.add(seen, 0, 1)
  }
}
