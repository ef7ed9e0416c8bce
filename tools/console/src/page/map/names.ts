/** To whom the names belong that calls and spans have. A process is one box, whatever its clients are called. */
import type { Kind, Overview, ServiceView } from '../../protocol.ts'

/** The names of one moment. */
export interface Names {
  /** The processes of each service. */
  readonly services: ReadonlyMap<string, readonly ServiceView[]>
  /** The service in whose process the clients with a name are; missing if that of several services has such clients. */
  readonly owners: ReadonlyMap<string, string>
  /** The names of the clients in the process of each service. */
  readonly clients: ReadonlyMap<string, ReadonlySet<string>>
  /** The services that handle a pattern, by `keyOf`. */
  readonly handlers: ReadonlyMap<string, readonly ServiceView[]>
}

export function namesOf({ services: views }: Overview): Names {
  const services = new Map<string, ServiceView[]>()
  const clients = new Map<string, Set<string>>()
  const handlers = new Map<string, ServiceView[]>()
  for (const view of views) {
    const name = nameOf(view)
    listIn(services, name).push(view)
    for (const { kind, pattern } of view.described?.patterns ?? [])
      listIn(handlers, `${kind} ${pattern}`).push(view)
  }
  const owners = new Map<string, Set<string>>()
  for (const view of views) {
    const { name: process = '', clients: own = [] } = view.described?.process ?? {}
    for (const client of own) {
      if (services.has(client)) continue
      setIn(owners, client).add(nameOf(view))
      // The spans of a process with several services have the name of the process.
      setIn(clients, services.has(process) ? process : nameOf(view)).add(client)
    }
  }
  const sole = [...owners].flatMap(([client, [owner, ...others]]) =>
    owner === undefined || others.length > 0 ? [] : [[client, owner] as const]
  )
  return { services, owners: new Map(sole), clients, handlers }
}

/** The name of a service, as its box has it. */
export function nameOf({ described, service }: ServiceView): string {
  return described?.name || service
}

/**
 * The service that has got a message.
 * @param process the name of the process that has got it; `undefined`: unknown
 */
export function receiverNamed(
  { services, handlers }: Names,
  process: string | undefined,
  kind: Kind,
  pattern: string
): string | undefined {
  const found = handlers.get(`${kind} ${pattern}`) ?? []
  if (process === undefined) return found[0] && nameOf(found[0])
  if (found.some((view) => nameOf(view) === process)) return process
  const beside = found.find((view) => view.described?.process?.name === process)
  return beside !== undefined && services.has(nameOf(beside)) ? nameOf(beside) : process
}

function listIn<Item>(lists: Map<string, Item[]>, key: string): Item[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

function setIn(sets: Map<string, Set<string>>, key: string): Set<string> {
  const set = sets.get(key) ?? new Set()
  sets.set(key, set)
  return set
}
