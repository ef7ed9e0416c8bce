/** The wall clock jumps by hours, forward and back, at client and server, while everything with a time limit runs. */
import { randomFrom } from '@elysia-microservices/test-support'
import { connect, TimeoutError } from 'elysia-microservices/client'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { withServer } from './process.ts'
import { HonestClient, Tally } from './tally.ts'

const SEED = 20_261_123
const HOUR = 3_600_000
/** The number of jumps, and the milliseconds between two jumps. */
const JUMPS = { short: 40, long: 1_200 }
const PAUSE = 50
/** The timeouts in milliseconds of calls that are answered in time, and of calls that are never answered. */
const ENOUGH = 15_000
const SHORT = 150
/** Limits that would end within a jump if they used the wall clock, and never end otherwise. */
const SERVER = {
  limits: { inFlightPerConnection: 1_000, idle: 60_000, incompleteMessage: 60_000, handshake: 60_000 }
}
const CLIENT = {
  protocol: 'rsocket',
  host: '127.0.0.1',
  rsocket: { lease: true, keepalive: { interval: 100, lifetime: 60_000 } },
  connectTimeout: 60_000,
  retry: false,
  reconnect: false
} as const

async function jumps({ length, progress }: Circumstances): Promise<Row> {
  const random = randomFrom(SEED)
  const count = JUMPS[length]
  const realNow = Date.now
  return withServer('ours', SERVER, async (server) => {
    const honest = new HonestClient(server.port, 'nest')
    const client = connect({ ...CLIENT, port: server.port })
    const lost: string[] = []
    client.onStatus(({ type }) => type === 'disconnected' && lost.push(type))
    const tally = new Tally()
    let jumping = true
    const keepAsking = async (ask: () => Promise<unknown>) => {
      while (jumping) {
        await ask()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const timesOut = () =>
      client.request('never', 0, { timeout: SHORT }).catch((error: unknown) => {
        if (error instanceof TimeoutError) return 'timed out'
        throw error
      })
    // A deadline is sent as a duration, not as a time of day.
    const remaining = async () => {
      const left = await client.request<number>('remaining', 0, { timeout: ENOUGH })
      return left > 0 && left <= ENOUGH ? 'in time' : left
    }
    const data = { ms: 3 * PAUSE, value: 'late' }
    const asking = [
      keepAsking(() => tally.expect(() => client.request('after', data, { timeout: ENOUGH }), 'late')),
      keepAsking(() => tally.expect(timesOut, 'timed out')),
      keepAsking(() => tally.expect(remaining, 'in time'))
    ]
    let seen = 0
    try {
      for (let jump = 0; jump < count; jump++) {
        progress(`jump ${jump} of ${count}`)
        const offset = Math.round((random() - 0.5) * 48 * HOUR)
        Date.now = () => realNow() + offset
        await server.figures({ jump: -offset })
        const theirs = await client.request<number>('clock', 0, { timeout: ENOUGH })
        if (Math.abs(theirs - (realNow() - offset)) < HOUR / 60) seen++
        await new Promise((resolve) => setTimeout(resolve, PAUSE))
      }
    } finally {
      Date.now = realNow
      jumping = false
    }
    await Promise.all(asking)
    await client.close()
    const left = await server.until(({ running }) => running === 0, ENOUGH)
    tally.add(await honest.stop())
    return {
      scenario: `wall clock of both ends moved ${count} times by up to 24 hours, with deadlines, timeouts, leases and keepalive`,
      server: 'ours',
      faults: count,
      ...tally.columns,
      remark: `requests of ${3 * PAUSE} ms must succeed, those never answered must time out after ${SHORT} ms; Date.now is replaced in both processes`,
      broken: [
        ...tally.broken(true),
        ...(seen === count ? [] : [`only ${seen} of ${count} jumps were seen by the server's handlers`]),
        ...(lost.length === 0 ? [] : [`the connection was lost ${lost.length} times`]),
        ...(left.running === 0 ? [] : [`${left.running} handlers were not told of their deadline`])
      ]
    }
  })
}

export const clock: Scenario = {
  name: 'clock-jumps',
  run: async (circumstances) => [await jumps(circumstances)]
}
