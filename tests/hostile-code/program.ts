/**
 * Runs a client and a service with hostile code in one process, case after case. Prints a line of JSON for each case:
 * its name, and its problems. Arguments: the name of the transport; its share (default: `1,0`, all); a text that
 * names of cases contain (default: all cases).
 */

import { grpc } from '@elysia-microservices/grpc'
import { anyJson } from '@elysia-microservices/grpc/testing'
import { within } from '@elysia-microservices/test-support'
import { memory, type Transport } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'
import fc from 'fast-check'
import { ENGINES, type RunningEngine } from '../engines/engines.ts'
import { type Case, type Ends, TRANSPORT_NAMES, type TransportName, takeShare } from './case.ts'
import { CASES } from './cases.ts'
import { authenticate } from './entering.ts'
import { make } from './recipes.ts'
import { EVENTS, hostileService } from './service.ts'
import { Tap } from './tap.ts'

/** How many messages may be in flight. The limit is low, so that a case whose messages never end is noticed soon. */
const PLACES_IN_FLIGHT = 8

/** Methods of gRPC say whether their callers stream, and whether they are events. */
const METHODS = anyJson({
  channels: ['read-all', 'read-some', 'read-one', 'give-back'],
  events: [...EVENTS, 'endless-event', 'nothing']
})

const unhandled: string[] = []
process.on('uncaughtException', (error) => void unhandled.push(`uncaught exception: ${shown(error)}`))
process.on('unhandledRejection', (error) => void unhandled.push(`unhandled rejection: ${shown(error)}`))

function shown(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error)
    return error.cause === undefined ? String(error.stack) : `${error.message}\n${shown(error.cause)}`
  } catch {
    return 'something that cannot be shown'
  }
}

/** Milliseconds between checks of what is in flight, and the number of checks: a busy machine needs time. */
const LOOK = 5
const MOST_LOOKS = 6_000

/**
 * Checks everything that must be as it was before. Returns the problems.
 * @param calls how many calls the well-behaved client makes
 */
async function lookedAt({ good, stats, found }: Ends, calls: number): Promise<string[]> {
  const problems: string[] = []
  // After these turns, errors that are reported in later turns of the event loop have been reported.
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
  for (let waited = 0; ; waited++) {
    const figures = stats()
    if (figures.inFlight.current === 0 && figures.streams === 0) break
    if (waited === MOST_LOOKS) {
      problems.push(`in flight: ${figures.inFlight.current}, streams: ${figures.streams}`)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK))
  }
  for (let n = 0; n < calls; n++) {
    const echoed = await good.request('echo', n, { timeout: 60_000 }).catch((error: unknown) => shown(error))
    if (echoed !== n) problems.push(`a good caller got ${echoed}`)
  }
  problems.push(...found().map((text) => `on the wire: ${text}`))
  problems.push(...unhandled.splice(0))
  return problems
}

/** A logger that keeps its lines; writing a line throws, rejects or never ends. */
function loggerTo(lines: string[]) {
  let count = 0
  const log = (line: string): unknown => {
    lines.push(line)
    switch (count++ % 4) {
      case 0:
        throw new Error('the disk is full')
      case 1:
        return Promise.reject(new Error('the disk is full'))
      case 2:
        return make({ thenable: [['throw', 'a revoked Proxy']] })
      default:
        return new Promise(() => {})
    }
  }
  return { error: log, warn: log }
}

async function open(name: TransportName): Promise<Ends & { close(): Promise<void> }> {
  const lines: string[] = []
  let server: Transport
  let far: (token?: string) => Transport
  let tap: Tap | undefined
  let running: RunningEngine | undefined
  const engine = ENGINES.find(({ title }) => title === name)
  if (engine !== undefined) {
    running = await engine.start()
    const { port, transport } = running
    // The service is a client of the engine's server.
    if (engine.hasServer) tap = await Tap.before(port, 'client')
    server = transport(tap && { port: tap.port })
    far = () => transport()
  } else if (name === 'gRPC') {
    // A client waits until the server allows it another stream.
    const limits = { streams: PLACES_IN_FLIGHT }
    server = grpc({ host: '127.0.0.1', port: 0, proto: METHODS, limits })
    far = () => grpc({ host: '127.0.0.1', port: (tap as Tap).port, proto: METHODS })
  } else {
    const protocol = name === 'RSocket' ? 'rsocket' : 'nest'
    server = tcp({
      host: '127.0.0.1',
      port: 0,
      limits: { inFlight: PLACES_IN_FLIGHT },
      authenticate: (request) => authenticate(request) as boolean
    })
    far = (token) => {
      const credentials = token === undefined ? undefined : ({ type: 'bearer', token } as const)
      return tcp({ host: '127.0.0.1', port: (tap as Tap).port, protocol, credentials })
    }
  }
  const service = hostileService(server, loggerTo(lines))
  await service.listen()
  if (service.address !== undefined) tap = await Tap.before(service.address.port, 'server')
  const clients: UntypedClient[] = []
  const newClient = (options: Parameters<Ends['connect']>[0] = {}, token?: string) => {
    const client = connect({
      transport: far(token),
      logger: loggerTo([]),
      service: hostileService(memory(), loggerTo([])),
      ...options
    })
    clients.push(client)
    return client
  }
  return {
    transport: name,
    service,
    good: newClient(),
    connect: (options) => newClient(options),
    connectAs: (token) => newClient({}, token),
    stats: () => service.stats()[0] as ReturnType<Ends['stats']>,
    found: () => tap?.found() ?? [],
    logged: () => lines.splice(0),
    async close() {
      for (const client of clients) await client.close()
      await service.stop()
      tap?.close()
      await running?.close()
    }
  }
}

/** Runs a case, and returns its problems; what it throws is a problem, too. */
async function problemsOf({ run }: Case, ends: Ends): Promise<string[]> {
  const all = PLACES_IN_FLIGHT + 1
  try {
    await within(
      // A place that each case loses is noticed at the end at the latest.
      run(ends, () => lookedAt(ends, 1)),
      'the case',
      120_000
    )
  } catch (error) {
    return [shown(error), ...(await lookedAt(ends, all))]
  }
  return lookedAt(ends, all)
}

const name = process.argv[2] as TransportName
if (!TRANSPORT_NAMES.includes(name)) throw new Error(`No such transport: ${name}`)
const [of = 1, turn = 0] = (process.argv[3] ?? '1,0').split(',').map(Number)
takeShare({ of, turn })
fc.configureGlobal({ endOnFailure: true, numRuns: Math.ceil(25 / of) })
const only = process.argv[4]
let ends = await open(name).catch((error: unknown) => {
  console.log(JSON.stringify({ name: 'the end', problems: [shown(error)] }))
  return process.exit(1)
})
for (const each of CASES) {
  if (only !== undefined && !each.name.includes(only)) continue
  if (each.on?.(name) === false) continue
  const problems = await problemsOf(each, ends)
  console.log(JSON.stringify({ name: each.name, problems }))
  if (problems.length === 0) continue
  // The case has done harm: the next cases get a new service and client.
  void ends.close()
  ends = await open(name)
}
await ends.close()
console.log(JSON.stringify({ name: 'the end', problems: unhandled }))
process.exit()
