/**
 * Durable events are published ten times as fast as they are handled: the memory of client and services must not
 * grow.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PATIENCE, pause } from '@elysia-microservices/test-support'
import { NatsServerProcess } from '../../support/nats-server.ts'
import { ServerProcess } from '../../support/server-process.ts'
import type { Circumstances, Row } from '../scenario.ts'
import { highest, Peaks, residentMb } from '../support/memory.ts'

/** Events that two processes handle per second, with 16 at a time each. */
const HANDLED = 150
const PUBLISHED = 10 * HANDLED
const PROCESSES = 2
const TAKES = (PROCESSES * 16 * 1_000) / HANDLED
/**
 * Megabytes by which the memory of a process may grow after the first tenth of the time; a runtime fills its heap
 * before it collects garbage.
 */
const GROWTH = 64

export async function floodOfEvents({ length, progress }: Circumstances): Promise<readonly Row[]> {
  const seconds = length === 'long' ? 600 : 4
  const events = PUBLISHED * seconds
  const folder = mkdtempSync(join(tmpdir(), 'durable-flood-'))
  const path = join(folder, 'handled')
  writeFileSync(path, '')
  const server = await NatsServerProcess.start('-js', '-sd', join(folder, 'store'))
  const handlers = Array.from(
    { length: PROCESSES },
    () =>
      new ServerProcess({
        program: 'torture/brokers/durable-slow-service',
        arguments: () => [server.url, path, String(TAKES)]
      })
  )
  const publisher = new ServerProcess({
    program: 'torture/brokers/durable-publisher',
    arguments: () => [server.url, String(PUBLISHED), String(events)]
  })
  const handled = new HandledEvents(path, events)
  try {
    for (const handler of handlers) await handler.start()
    await publisher.start()
    const ends = [publisher, ...handlers]
    const memory = () => highest(...ends.map(({ pid }) => residentMb(pid)))
    const peaks = new Peaks()
    for (let second = 0; second < seconds; second += 0.2) {
      await pause(200)
      peaks.add(second / seconds, memory())
      if (second % 10 < 0.2)
        progress(`${Math.round(second)} of ${seconds} s, ${Math.round(memory() ?? 0)} MB`)
    }
    const handledBefore = handled.read()
    for (const handler of handlers) process.kill(handler.pid as number, 'SIGUSR2')
    for (let last = -1, at = performance.now(); handled.read() < events; await pause(200)) {
      if (handled.count !== last) at = performance.now()
      else if (performance.now() - at > PATIENCE) break
      last = handled.count
    }
    const broken: string[] = []
    if (peaks.growth > GROWTH) broken.push(`An end held more and more: ${peaks}`)
    return [
      {
        scenario: `durable events published ten times as fast as they are handled, for ${seconds} s`,
        server: 'ours',
        ...{ faults: 1, requests: events, succeeded: handled.count, failed: 0, lost: 0 },
        ...{ hung: events - handled.count, doubled: handled.again },
        peakRssMb: peaks.most,
        remark: `${handledBefore} were handled while all were published; memory of an end: ${peaks}`,
        broken
      }
    ]
  } finally {
    await Promise.allSettled([publisher, ...handlers].map((end) => end.stop('SIGKILL')))
    await server.stop()
    handled.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The numbers that handlers have written to a file, read while the file grows. */
class HandledEvents {
  count = 0
  /** How many events have run more than once, counting each further run. */
  again = 0
  readonly #times: Uint8Array
  readonly #file: number
  readonly #buffer = Buffer.alloc(64 * 1024)
  #rest = ''

  constructor(path: string, events: number) {
    this.#file = openSync(path, 'r')
    this.#times = new Uint8Array(events)
  }

  /** Reads the new lines of the file. @returns how many different events there are so far */
  read(): number {
    for (;;) {
      const size = readSync(this.#file, this.#buffer)
      if (size === 0) return this.count
      const lines = (this.#rest + this.#buffer.toString('latin1', 0, size)).split('\n')
      this.#rest = lines.pop() as string
      for (const line of lines) {
        const n = Number(line)
        const times = (this.#times[n] as number) + 1
        this.#times[n] = times
        if (times === 1) this.count++
        else this.again++
      }
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}
