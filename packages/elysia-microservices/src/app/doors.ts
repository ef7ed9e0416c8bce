/**
 * Servers that are reached by the port of an app, such as the one for browsers, and the services that answer there:
 * each service of an app gets each of its doors, whichever of the two the app used first.
 */
import type { ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'

/** An entrance on the port of an app that leads to its services, such as `websocket()`. */
export interface Door {
  /** Makes the server by which a service answers there. */
  newServer(context: ServerContext): ServerTransport
}

/** A service, as a door finds it. */
export interface Behind {
  /** Is called once for each door and each start of an app. */
  answerAt(door: Door): void
}

interface Found {
  readonly doors: Set<Door>
  readonly services: Set<Behind>
}

const all = new WeakMap<AnyElysia, Found>()

/** An app with this door listens. */
export function openDoor(app: AnyElysia, door: Door): void {
  const { doors, services } = foundIn(app)
  doors.add(door)
  for (const service of services) service.answerAt(door)
}

/** An app with this service listens. */
export function answerAtDoors(app: AnyElysia, service: Behind): void {
  const { doors, services } = foundIn(app)
  services.add(service)
  for (const door of doors) service.answerAt(door)
}

function foundIn(app: AnyElysia): Found {
  const known = all.get(app)
  if (known !== undefined) return known
  const found: Found = { doors: new Set(), services: new Set() }
  all.set(app, found)
  return found
}
