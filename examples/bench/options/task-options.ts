/** The options for the server's task, its mode and the flags of each mode, which all commands share. */
import { UsageError } from '../errors.ts'
import { handlers, type Mode, modes, sources, steps, type Task, takes } from '../task/task.ts'
import { choice, integer, milliseconds } from './flags.ts'

export const taskFlags = {
  mode: choice(
    modes,
    'what is measured: requests, values of streams, events, how long a server takes to start, or events that are stored; default request'
  ),
  handler: choice(
    handlers,
    'how the handler answers a request: at once, as an async function, or in a later turn; default sync'
  ),
  generator: choice(sources, 'with --mode=stream: what the handler answers with; default sync'),
  take: choice(
    takes,
    'with --mode=stream: how the elysia client reads: for await, or send(); default iterate'
  ),
  streams: integer(1, 100_000, 'with --mode=stream: streams read at a time; default 1'),
  values: integer(1, 100_000_000, 'with --mode=stream: values of each; default 100000'),
  pause: milliseconds(
    0,
    600_000,
    'with --mode=stream: how long the reader waits after each value; default 0'
  ),
  batch: integer(1, 1_000_000, 'with --mode=emit: events sent before their promises are awaited; default 1'),
  busy: milliseconds(0, 60_000, 'with --mode=emit: how long the server is busy with each event; default 0'),
  step: choice(
    steps,
    'with --mode=durable: events stored, stored in a transaction, handled, or out of a database; default publish'
  )
}

const MODE_OF = {
  handler: 'request',
  generator: 'stream',
  take: 'stream',
  streams: 'stream',
  values: 'stream',
  pause: 'stream',
  batch: 'emit',
  busy: 'emit',
  step: 'durable'
} as const satisfies Partial<Record<keyof typeof taskFlags, Mode>>

type Given = { readonly [Name in keyof typeof taskFlags]: ReturnType<(typeof taskFlags)[Name]['read']> }

/** @throws UsageError if a flag of another mode is given */
export function readTask(given: Given): Task {
  const mode = given.mode ?? 'request'
  for (const [name, of] of Object.entries(MODE_OF)) {
    const value = given[name as keyof typeof MODE_OF]
    if (value === undefined || of === mode) continue
    throw new UsageError(`--${name}: got '${value}' with --mode=${mode}, expected --mode=${of}`)
  }
  if (mode === 'request') return { mode, handler: given.handler ?? 'sync' }
  if (mode === 'emit') return { mode, batch: given.batch ?? 1, busy: given.busy ?? 0 }
  if (mode === 'start') return { mode }
  if (mode === 'durable') return { mode, step: given.step ?? 'publish' }
  return {
    mode,
    generator: given.generator ?? 'sync',
    take: given.take ?? 'iterate',
    values: given.values ?? 100_000,
    pause: given.pause ?? 0
  }
}

const CALLERS: Readonly<Partial<Record<Mode, number>>> = { request: 100, durable: 256 }

/** The default number of callers in a mode: 100 requests at a time, 256 durable events, otherwise one. */
export const callersOf = (mode: Mode): number => CALLERS[mode] ?? 1

/**
 * Refuses flags that a mode does not support.
 *
 * @throws UsageError such a flag is given
 */
export function rejectBeside(mode: Mode, given: Readonly<Record<string, unknown>>): void {
  for (const [name, allowed] of Object.entries(ALLOWED)) {
    if (given[name] === undefined || given[name] === false || allowed.includes(mode)) continue
    throw new UsageError(`--${name}: got '${given[name]}' with --mode=${mode}, which has no such flag`)
  }
}

/** Flags that only some modes have, with these modes. */
const ALLOWED: Readonly<Record<string, readonly Mode[]>> = {
  rate: ['request'],
  'find-capacity': ['request'],
  processes: ['request'],
  method: ['request', 'start'],
  concurrency: ['request', 'emit', 'durable'],
  shape: ['request', 'emit', 'start', 'durable'],
  payloads: ['request', 'emit', 'start', 'durable'],
  payload: ['request', 'emit', 'start', 'durable'],
  connections: ['request', 'stream', 'emit']
}
