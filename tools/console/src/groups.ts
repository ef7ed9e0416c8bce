/** Combines the figures of all processes to groups of durable events. */
import type {
  DurableView,
  GroupView,
  PatternFigures,
  Sample,
  ServiceSample,
  ServiceView
} from './protocol.ts'

/** Largest number of handlers of groups that are shown. */
const MAX_HANDLERS = 1_000

/** The description of a process, with its last sample. */
export interface Told {
  readonly view: ServiceView
  readonly sample: ServiceSample
}

/** The last samples of processes that still exist, since a process may answer less often than it is asked. */
export class LastSamples {
  #last = new Map<string, ServiceSample>()

  /** Adds a sample. @returns the last known state of each process */
  take({ services: samples }: Sample, services: readonly ServiceView[]): Told[] {
    const before = this.#last
    const told = services.flatMap((view) => {
      const own = Object.hasOwn(samples, view.id) ? samples[view.id] : undefined
      const sample = own ?? before.get(view.id)
      return sample === undefined ? [] : [{ view, sample }]
    })
    this.#last = new Map(told.map(({ view, sample }) => [view.id, sample]))
    return told
  }
}

/** A group that is being combined. */
interface Draft extends Omit<GroupView, 'handlers' | 'processes' | 'notReached'> {
  readonly processes: Set<string>
  readonly notReached: Set<string>
  readonly handlers: Map<string, GroupView['handlers'][number]>
}

/**
 * Combines the groups of all processes. Each process counts its own deliveries, but all report the same number of
 * waiting events. Of a process that does not answer, only these counts are used: what waits and runs now is unknown.
 */
export function groupsOf(told: readonly Told[]): GroupView[] {
  const groups = new Map<string, Draft>()
  let left = MAX_HANDLERS
  for (const { view, sample } of told) {
    const events = new Map(sample.rows.flatMap((row) => (row.kind === 'event' ? [[row.pattern, row]] : [])))
    for (const { name: engine, durable } of sample.transports)
      for (const handler of durable) {
        const key = JSON.stringify([engine, handler.group])
        const known = groups.get(key)
        const group = known ?? newGroup(engine, handler.group, view.service)
        const before = group.handlers.get(handler.pattern)
        if (before === undefined && left-- <= 0) return finished(groups)
        if (known === undefined) groups.set(key, group)
        group.processes.add(view.id)
        if (view.isSilent === true) group.notReached.add(view.id)
        const present = view.isSilent === true ? undefined : sample
        const row = events.get(handler.pattern)
        group.handlers.set(handler.pattern, together(before, handler, row, present, view.service))
      }
  }
  return finished(groups)
}

function newGroup(engine: string, group: string, service: string): Draft {
  return { engine, group, service, processes: new Set(), notReached: new Set(), handlers: new Map() }
}

function together(
  before: GroupView['handlers'][number] | undefined,
  { pattern, lag, redeliveries, deadLetters, isPaused, unavailable }: DurableView,
  row: PatternFigures | undefined,
  present: ServiceSample | undefined,
  service: string
): GroupView['handlers'][number] {
  const waits = most(before?.waits, present && lag)
  // In a process with counts, a missing row means that the handler has never run.
  const running = present && (row?.inFlight ?? (present.total === undefined ? undefined : 0))
  const runs = running === undefined ? before?.runs : (before?.runs ?? 0) + running
  const reason = before?.unavailable ?? unavailable
  return {
    pattern,
    ...(waits !== undefined && { waits }),
    ...(runs !== undefined && { runs }),
    services: [...new Set([...(before?.services ?? []), service])],
    triedAgain: (before?.triedAgain ?? 0) + redeliveries,
    died: (before?.died ?? 0) + deadLetters,
    isPaused: before?.isPaused === true || isPaused,
    ...(reason !== undefined && { unavailable: reason })
  }
}

/** The larger number, because processes have heard it from the engine at different times. */
function most(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)
}

function finished(groups: ReadonlyMap<string, Draft>): GroupView[] {
  return [...groups.values()]
    .map(({ processes, notReached, handlers, ...group }) => ({
      ...group,
      processes: processes.size,
      notReached: notReached.size,
      handlers: [...handlers.values()].sort((a, b) => (a.pattern < b.pattern ? -1 : 1))
    }))
    .sort((a, b) => (a.group < b.group ? -1 : 1))
}
