/** The task of a measurement, besides the payload: the modes of the bench, and the choices in each mode. */

export const modes = ['request', 'stream', 'emit', 'start', 'durable'] as const
/** The modes, and the suites, which have their own workloads. */
export type Mode = (typeof modes)[number] | 'suite'

export const suiteNames = ['http', 'pairs', 'db', 'scale', 'web'] as const
export type SuiteName = (typeof suiteNames)[number]

export const handlers = ['sync', 'async', 'waits'] as const
/** How a handler answers: at once, as an `async` function, or in a later turn of the event loop. */
export type Handler = (typeof handlers)[number]

export const sources = ['sync', 'async', 'observable'] as const
/** The kinds of results of a streaming handler: a generator, an async generator, or an Observable. */
export type Source = (typeof sources)[number]

export const takes = ['iterate', 'send'] as const
/** How our client reads a stream: `for await` over `stream()`, or subscribing to `send()`. */
export type Take = (typeof takes)[number]

export const steps = ['publish', 'transact', 'consume', 'relay'] as const
/**
 * The measured step of a durable event: until it is stored, by itself or in a transaction of the user; until it is
 * handled; or out of a database.
 */
export type Step = (typeof steps)[number]

export interface RequestTask {
  readonly mode: 'request'
  readonly handler: Handler
}

export interface StreamTask {
  readonly mode: 'stream'
  readonly generator: Source
  /** `null`: the client has only one way. */
  readonly take: Take | null
  /** The number of values of each stream. */
  readonly values: number
  /** Milliseconds that the reader waits after each value; 0: it reads as fast as it can. */
  readonly pause: number
}

export interface EmitTask {
  readonly mode: 'emit'
  /** The number of events that are sent before their promises are awaited together. */
  readonly batch: number
  /** Milliseconds that the server is busy with each event. */
  readonly busy: number
}

export interface StartTask {
  readonly mode: 'start'
}

export interface SuiteTask {
  readonly mode: 'suite'
  readonly suite: SuiteName
  readonly workload: string
}

/** Whether values of a stream are counted instead of requests. */
export const isOfValues = ({ suite, workload }: SuiteTask): boolean =>
  suite === 'web' && (workload === 'stream' || workload === 'still')

/** Durable events. The number in flight is the concurrency of the measurement. */
export interface DurableTask {
  readonly mode: 'durable'
  readonly step: Step
}

/** Whether events that are stored before are taken, so that nothing is known of each. */
export const isOfBacklog = (task: Task | undefined): boolean =>
  task?.mode === 'durable' && (task.step === 'consume' || task.step === 'relay')

export type Task = RequestTask | StreamTask | EmitTask | StartTask | DurableTask | SuiteTask

/** The default task: an echo, answered at once. */
export const ECHO: RequestTask = { mode: 'request', handler: 'sync' }

/** The task of a contest or a measurement; older reports name none, which means an echo. */
export const taskOf = ({ task }: { readonly task?: Task | undefined }): Task => task ?? ECHO

/**
 * The flags of a measurement with this task; none for a plain echo, so that older versions of the bench accept them.
 */
export function flagsOfTask(task: Task): Readonly<Record<string, string | number>> {
  const { mode, ...chosen } = task
  const differs = Object.entries(chosen).filter(
    ([name, value]) => value !== null && !(name === 'handler' && value === ECHO.handler)
  )
  return { ...(mode !== 'request' && { mode }), ...Object.fromEntries(differs) }
}

/** The flags that tell a server its task. */
export function flagsOfServer(task: Task): string[] {
  if (task.mode === 'request') return [`--handler=${task.handler}`]
  if (task.mode === 'stream') return [`--generator=${task.generator}`]
  return task.mode === 'emit' ? [`--busy=${task.busy}`] : []
}
