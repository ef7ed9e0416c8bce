/** A flood of large requests: the server's memory must stay below what its limits allow. */

import { pause } from '@elysia-microservices/test-support'
import type { ClientTransport } from '@elysia-microservices/transport'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { residentMb } from '../support/memory.ts'
import { TortureService } from '../support/torture-service.ts'

const MB = 1024 * 1024
const MESSAGE = MB
/** Requests that each connection tries to have in flight. */
const EACH = 8
const LIMITS = {
  connections: 16,
  receiveBuffer: 4 * MB,
  sendBuffer: 4 * MB,
  inFlight: 8
}

export const largeRequests: readonly Scenario[] = (['rsocket', 'nest'] as const).map((protocol) => ({
  name: protocol === 'nest' ? 'large-requests-nest' : 'large-requests',
  run: async (circumstances) => [await flood(protocol, circumstances)]
}))

async function flood(protocol: 'rsocket' | 'nest', { length, progress }: Circumstances): Promise<Row> {
  const service = new TortureService(1, { options: { limits: LIMITS } }, { memoryMb: allowed() })
  const ledger = new Ledger()
  try {
    await service.start()
    const text = 'x'.repeat(MESSAGE)
    const reconnect = { minDelay: 10, maxDelay: 100 }
    const clients = Array.from({ length: LIMITS.connections }, () =>
      service.client({ protocol, retry: false, reconnect })
    )
    // One request first, so that all code is loaded.
    await ask(ledger, clients[0] as ClientTransport, text)
    const idle = residentMb(service.servers[0]?.pid)
    let running = true
    for (const client of clients) {
      for (let caller = 0; caller < EACH; caller++) {
        void (async () => {
          while (running) {
            await ask(ledger, client, text)
            await pause(5)
          }
        })()
      }
    }
    const seconds = length === 'long' ? 30 : 4
    for (let gone = 0; gone < seconds; gone++) {
      await pause(1_000)
      progress(
        `${gone + 1} of ${seconds} s, ${ledger.succeeded} succeeded, ${service.peakMb?.toFixed(0)} MB at most`
      )
    }
    running = false
    await ledger.settled()
    const runs = service.record.read()
    const broken = ledger.untruths(runs)
    const peakRssMb = service.peakMb
    const rssLimitMb = idle === undefined ? undefined : idle + allowed()
    // Garbage collection is random, especially on a busy machine: the short form only looks for leaks.
    const slack = length === 'long' ? 1 : 2
    if (peakRssMb !== undefined && rssLimitMb !== undefined && peakRssMb > rssLimitMb * slack)
      broken.push(`The server had ${peakRssMb.toFixed(0)} MB; its limits allow ${rssLimitMb.toFixed(0)} MB`)
    return {
      scenario: `flood of requests of 1 MB${protocol === 'nest' ? " on Nest's wire" : ''}: memory`,
      server: 'ours',
      faults: 1,
      ...ledger.account(runs),
      peakRssMb,
      rssLimitMb,
      remark: errorsInWords(ledger.errors) || 'none refused',
      broken
    }
  } finally {
    await service.end()
  }
}

/** How many times a request is in memory: as bytes received, as a value, and as bytes to be sent. */
const FORMS = 3
/**
 * Memory per byte in use: the garbage collector runs when the heap has doubled, and freed memory stays mapped for a
 * while.
 */
const WITH_GARBAGE = 3

/** Megabytes that the limits allow, in addition to an idle server. */
function allowed(): number {
  const { connections, receiveBuffer, sendBuffer, inFlight } = LIMITS
  const buffers = connections * (receiveBuffer + sendBuffer)
  return (WITH_GARBAGE * (buffers + inFlight * FORMS * MESSAGE)) / MB
}

async function ask(ledger: Ledger, client: ClientTransport, text: string): Promise<void> {
  const id = ledger.begin()
  try {
    const answer = (await client.request('large', { id, text })) as { id: number; text: string }
    ledger.answered(id, answer.id === id && answer.text.length === text.length, answer.id)
  } catch (error) {
    ledger.failed(id, error)
  }
}
