/**
 * Connects the doors of an Elysia app with its services. A door is a server on the app's own port, such as
 * `websocket()`. Each service of an app answers at each door of the same app, whichever of them the app used first.
 */
import type { ServerContext, ServerTransport } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'

/** An entrance on the port of an app that leads to the app's services, such as `websocket()`. */
export interface Door {
  /** Makes the server by which a service answers at this door. */
  newServer(context: ServerContext): ServerTransport
}

/** The part of a service that a door uses. */
export interface Behind {
  /** Called once for each door at each start of an app. */
  answerAt(door: Door): void
}

interface Found {
  readonly doors: Set<Door>
  readonly services: Set<Behind>
}

const all = new WeakMap<AnyElysia, Found>()

/** Called when an app that uses this door begins to listen. */
export function openDoor(app: AnyElysia, door: Door): void {
  const { doors, services } = foundIn(app)
  doors.add(door)
  for (const service of services) service.answerAt(door)
}

/** Called when an app that uses this service begins to listen. */
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
