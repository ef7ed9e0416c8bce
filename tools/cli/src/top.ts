/** `top`: shows the activity of a service by pattern, and updates it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { UntypedClient } from 'elysia-microservices/client'
import { type Row, rowsBetween } from 'elysia-microservices/kit'
import type { Arguments } from './arguments.ts'
import { askDescription, type Described } from './described.ts'
import { EXIT } from './exit-codes.ts'
import { type Output, plainText, table, valueText } from './output.ts'

/** The escape sequence that clears the terminal and moves the cursor to its top. */
const CLEAR = '\u001b[2J\u001b[H'
/** Escape sequences that make the terminal cut long lines, and wrap them again. */
const CUTTING = { on: '\u001b[?7l', off: '\u001b[?7h' }

/** Draws until `--count` is reached, or until the user ends the program. */
export async function top(client: UntypedClient, args: Arguments, output: Output): Promise<number> {
  let before = await askDescription(client, args, true)
  // The figures of two instances cannot be compared, so the instance that has answered first is asked again.
  const same =
    args.service === undefined || before.instance === undefined
      ? args
      : { ...args, instance: before.instance }
  let seen = performance.now()
  for (let n = 0; n < args.count; n++) {
    await pause(args.interval)
    const now = await askDescription(client, same, true)
    const seconds = (performance.now() - seen) / 1_000
    const rows = rowsBetween(before.figures ?? [], now.figures ?? [], seconds)
    if (output.json) output.out(valueText({ status: now.status, transports: now.transports, rows }, true))
    else {
      const text = screen(now, rows)
      output.out(output.isTerminal ? `${CLEAR}${CUTTING.on}${text}${CUTTING.off}` : text)
    }
    before = now
    seen = performance.now()
  }
  return EXIT.ok
}

function screen({ name, status, transports, figures }: Described, rows: readonly Row[]): string {
  const inFlight = transports.map(
    ({ transport, inFlight }) => `${transport} ${Number(Object(inFlight).current)}`
  )
  const title = plainText(`${name}, ${status}; in flight: ${inFlight.join(', ')}`)
  if (figures === undefined) return `${title}\nThere are no figures: the service needs .wrap(telemetry())`
  return `${title}\n${table(
    ['pattern', 'req/s', 'p50 ms', 'p99 ms', 'in flight', 'errors/s'],
    rows.map((row) => [
      row.pattern,
      round(row.rate),
      ms(row.p50),
      ms(row.p99),
      row.inFlight,
      round(row.errors)
    ])
  )}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function ms(value: number | undefined): string {
  return value === undefined ? '-' : value.toPrecision(3)
}
