/** A flood of large requests: the server's memory stays below what its limits allow. */
import type { ClientTransport } from '@elysia-microservices/transport'
import { pause } from '../../support/within.ts'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { residentMb } from '../support/memory.ts'
import { TortureService } from '../support/torture-service.ts'

const MB = 1024 * 1024
const MESSAGE = MB
/** Requests that each connection has in flight, or tries to. */
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
    // One message, so that all code is loaded.
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
    // When garbage is collected is chance, more so on a busy machine: the short form looks for leaks only.
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

/** Forms of a message in work: what came, the value, what goes. */
const FORMS = 3
/** Memory for each byte in use: the collector comes when the heap has doubled, and what it frees stays mapped for a while. */
const WITH_GARBAGE = 3

/** Megabytes the limits allow beside those of an idle server. */
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
