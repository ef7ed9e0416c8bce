/** The figures that services tell: in peace they say that there is nothing left. */
import type { Ledger } from './ledger.ts'
import type { World } from './world.ts'

/** The figures of each transport. */
interface Told {
  readonly transport: string
  readonly inFlight: { readonly current: number }
  readonly streams: number
  readonly unavailable?: string | undefined
  readonly durable?: readonly {
    readonly pattern: string
    readonly lag: number | undefined
    readonly redeliveries: number
    readonly deadLetters: number
    readonly isPaused: boolean
    readonly unavailable?: string | undefined
  }[]
  /** Bytes, over sockets only. */
  readonly received?: number
  readonly unsent?: number
}

/** Further looks until all that was stored must be handled, and milliseconds between them: not those of events that recur. */
const LOOKS = 5
const BETWEEN = 19_000

interface Teller {
  stats(): readonly object[]
}

/** Looks at the figures of services when nothing has happened for long. Those of engines are asked for while they are read. */
export async function auditFigures(
  world: Pick<World, 'pass'>,
  services: readonly (Teller | undefined)[],
  ledger: Ledger
): Promise<void> {
  const all = () => services.flatMap((service) => (service?.stats() ?? []) as readonly Told[])
  const isAtWork = () =>
    all().some(({ durable = [], inFlight }) => inFlight.current > 0 || durable.some(isBehind))
  all()
  await world.pass(() => false, 20_000)
  // Of events that nobody was promised, one may have been on its way to a process when that was lost.
  for (let time = 0; time < LOOKS && isAtWork(); time++) await world.pass(() => false, BETWEEN)
  for (const service of services) if (service !== undefined) auditService(service, ledger)
}

/** The next event that recurs waits always. */
function isBehind({
  pattern,
  lag = 0
}: {
  readonly pattern: string
  readonly lag: number | undefined
}): boolean {
  return lag !== 0 && !(lag > 0 && pattern === 'recurring')
}

function auditService(service: Teller, ledger: Ledger): void {
  for (const told of service.stats() as readonly Told[]) {
    const wrong = (figure: string, value: unknown) =>
      ledger.breaks(`in peace, ${told.transport} tells ${figure}: ${String(value)}`)
    if (told.inFlight.current !== 0) wrong('in flight', told.inFlight.current)
    if (told.streams !== 0) wrong('streams', told.streams)
    if ((told.received ?? 0) !== 0) wrong('received bytes', told.received)
    if ((told.unsent ?? 0) !== 0) wrong('unsent bytes', told.unsent)
    if (told.unavailable !== undefined) wrong('unavailable', told.unavailable)
    for (const { pattern, lag, isPaused, redeliveries, deadLetters, unavailable } of told.durable ?? []) {
      if (isBehind({ pattern, lag })) wrong(`the lag of ${pattern}`, lag)
      if (isPaused) wrong(`the pause of ${pattern}`, isPaused)
      if (!(redeliveries >= 0)) wrong(`redeliveries of ${pattern}`, redeliveries)
      if (!(deadLetters >= 0)) wrong(`dead letters of ${pattern}`, deadLetters)
      if (unavailable !== undefined) wrong(`${pattern} as unavailable`, unavailable)
    }
  }
}
