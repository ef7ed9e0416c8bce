/** Finds the problems at one moment, from the state at that moment alone. */
import { isEngine } from '../engines.ts'
import type { Told } from '../groups.ts'
import { listed, plural } from '../plural.ts'
import type { AlertView, GroupView, OutboxOf, ServiceView } from '../protocol.ts'

/** The state of services, groups and outboxes at one moment. */
export interface Watched {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly services: readonly ServiceView[]
  /** The services that have answered, each with its last sample. */
  readonly told: readonly Told[]
  readonly groups: readonly GroupView[]
  readonly outboxes: readonly OutboxOf[]
}

/** A problem at this moment, which may be over at the next one. */
export type Condition = Omit<AlertView, 'since'>

/**
 * The name of the engine between the page and a service, if the engine cannot be reached; `undefined` if that is
 * not known.
 */
function lostEngine({ id, isCutOff }: ServiceView, told: readonly Told[]): string | undefined {
  if (isCutOff !== true) return undefined
  const before = told.find(({ view }) => view.id === id)?.sample.transports ?? []
  return before.find(({ name }) => isEngine(name))?.name
}

/** Services, or single processes of them, that do not answer. */
export function silent({ services, told }: Watched): Condition[] {
  const byService = new Map<string, ServiceView[]>()
  for (const view of services) byService.set(view.service, [...(byService.get(view.service) ?? []), view])
  return [...byService].flatMap(([service, views]): Condition[] => {
    const away = views.filter((view) => view.isSilent === true && lostEngine(view, told) === undefined)
    if (away.length === 0) return []
    if (away.length === views.length)
      return [
        {
          key: `silent ${service}`,
          kind: 'silent',
          title: `${service} does not answer`,
          detail: away[0]?.problem ?? '',
          advice: 'Check whether its process runs, read the end of its log, then start it again.',
          place: ['services', away[0]?.id ?? service]
        }
      ]
    return away.map(({ id, instance }) => ({
      key: `silent ${service} ${instance}`,
      kind: 'silent',
      title: `A process of ${service} does not answer`,
      detail: `The process ${instance} has not answered; ${views.length - away.length} of the service do.`,
      advice:
        'If the process hangs, end it: the other processes take over. Read the end of its log for the reason.',
      place: ['services', id]
    }))
  })
}

/** Engines that services cannot reach, or that this server cannot reach; by the names of the engines. */
export function engines({ services, told, groups }: Watched): Condition[] {
  const reasons = new Map<string, { reason: string; readonly services: Set<string> }>()
  const note = (engine: string, service: string, reason: string) => {
    const known = reasons.get(engine)
    if (known === undefined) reasons.set(engine, { reason, services: new Set([service]) })
    else known.services.add(service)
  }
  for (const view of services) {
    const engine = lostEngine(view, told)
    if (engine !== undefined) note(engine, view.service, view.problem ?? '')
  }
  for (const { view, sample } of told)
    for (const { name, unavailable } of sample.transports)
      if (unavailable !== undefined) note(name, view.service, unavailable)
  for (const { engine, service, handlers } of groups)
    for (const { unavailable } of handlers) if (unavailable !== undefined) note(engine, service, unavailable)
  return [...reasons].map(([engine, { reason, services }]) => ({
    key: `engine ${engine}`,
    kind: 'engine',
    title: `${engine} cannot be reached`,
    detail: `For ${listed([...services])}: ${reason}`,
    advice: `Start ${engine}, or check that its address is right and that this machine can reach it. Services reconnect by themselves.`,
    place: ['services', [...services][0] ?? '']
  }))
}

/** Groups with dead letters. */
export function dead({ groups }: Watched): Condition[] {
  return groups.flatMap((view): Condition[] => {
    const { engine, group, dead = 0, deadUnknown, handlers } = view
    if (view.dead === undefined && deadUnknown !== undefined) {
      const died = handlers.reduce((sum, handler) => sum + handler.died, 0)
      return died === 0 ? [] : [unreadable(view, died, deadUnknown)]
    }
    return dead === 0
      ? []
      : [
          {
            key: `dead ${engine} ${group}`,
            kind: 'dead',
            title: `${group} has ${dead > 100 ? 'more than 100 dead letters' : plural(dead, 'dead letter')}`,
            detail:
              'Dead letters are events whose handler has failed for good. They stay until they are redriven or discarded.',
            advice: 'Read the reasons, fix the handler, and send the events again.',
            place: ['events', engine, group]
          }
        ]
  })
}

/** Dead letters that the console cannot read: whether they are still there is unknown. */
function unreadable({ engine, group }: GroupView, died: number, why: string): Condition {
  return {
    key: `dead ${engine} ${group}`,
    kind: 'dead',
    title: `${group} has had ${plural(died, 'dead letter')}`,
    detail: `Its processes have counted them since they began, and the console cannot say whether they are still there. ${why}`,
    advice: "Read the reasons in the service's log, and fix the handler.",
    place: ['events', engine, group]
  }
}

/**
 * Identifies an outbox: its schema has the same name in most services, and the processes of one service share it.
 */
export function outboxKey({ service: id, schema }: OutboxOf, { services }: Watched): string {
  return `outbox ${services.find((view) => view.id === id)?.service ?? id} ${schema}`
}

/** Outboxes with events that the engine has refused. */
export function refused(watched: Watched): Condition[] {
  return watched.outboxes.flatMap((outbox): Condition[] =>
    outbox.failed === 0
      ? []
      : [
          {
            key: `${outboxKey(outbox, watched)} failed`,
            kind: 'outbox',
            title: `${plural(outbox.failed, 'event')} of the outbox ${outbox.schema} ${outbox.failed === 1 ? 'was' : 'were'} refused`,
            detail: `The engine has refused them as invalid or too large; the relay in ${outbox.service} goes on with other events.`,
            advice:
              'Read the reasons with relay.failed.list(), and send the events again or discard them (docs/outbox.md).',
            place: ['events']
          }
        ]
  )
}
