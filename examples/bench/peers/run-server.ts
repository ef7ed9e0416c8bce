/**
 * The common part of all servers of the bench: it reads the address to listen on, reports when the server listens,
 * and stops the server on request.
 */
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type ShapeName, shapeNames } from '../payload/payload.ts'
import { collectGarbage } from '../process/garbage.ts'
import { handlers, sources } from '../task/task.ts'
import { answerBy, EventCounter, type Records, recordsBy } from './work.ts'

export interface RunningServer {
  readonly port: number
  stop(): Promise<void>
}

export interface Listen {
  readonly host: string
  /** The port; 0: any free port. */
  readonly port: number
  /** The payload of the echo, for servers that must know its shape. */
  readonly shape: ShapeName
  readonly work: Work
}

/** The work of the handlers, each for its own pattern: `echo`, `count` and `event`. */
export interface Work {
  answer(data: unknown): unknown
  records(count: number): Records
  event(): void
}

export type Start = (listen: Listen) => Promise<RunningServer>

const flags = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string' },
  shape: { type: 'string', default: 'flat' },
  handler: { type: 'string', default: 'sync' },
  generator: { type: 'string', default: 'sync' },
  busy: { type: 'string', default: '0' },
  'with-parent': { type: 'boolean' }
} as const

/**
 * Starts a server for the flags `--host` (default 127.0.0.1), `--port` (0: any free port), `--shape` (default flat),
 * and for its handlers: `--handler`, `--generator` (default sync), `--busy` (milliseconds for each event).
 *
 * With `--with-parent`, the server takes commands from stdin: see `obeyParent`.
 */
export async function runServer(defaultPort: number, start: Start): Promise<void> {
  const { values } = parseArgs({ options: flags })
  const { host } = values
  const events = new EventCounter(Number(values.busy))
  const work: Work = {
    answer: answerBy(oneOf(handlers, 'handler', values.handler)),
    records: await recordsBy(oneOf(sources, 'generator', values.generator)),
    event: events.take
  }
  const shape = oneOf(shapeNames, 'shape', values.shape)
  const server = await start({ host, port: Number(values.port ?? defaultPort), shape, work })

  const stop = () => void server.stop().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  if (values['with-parent'] === true) obeyParent(events)

  console.log(`listening on tcp://${host}:${server.port}`)
}

function oneOf<T extends string>(names: readonly T[], flag: string, given: string): T {
  const found = names.find((name) => name === given)
  if (found === undefined) throw new Error(`--${flag}: got '${given}', expected ${names.join(' or ')}`)
  return found
}

/**
 * Ends when stdin ends, so that a bench that was killed leaves no server behind. The line `gc` collects garbage, and
 * is answered on stdout with `collected` or `not collected`. The line `events 7 1000 2000` is answered with `events
 * 7`, the number of all handled events, and the number within these times: counted here, because a busy server could
 * not be asked at the right moments.
 */
export function obeyParent(events?: EventCounter): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', async (line) => {
    if (line === 'gc') console.log((await collectGarbage()) ? 'collected' : 'not collected')
    const [asked, id, from, to] = line.split(' ')
    if (asked === 'events' && events !== undefined)
      console.log(`events ${id} ${events.count} ${events.between(Number(from), Number(to))}`)
  })
  lines.once('close', () => process.exit(0))
}
