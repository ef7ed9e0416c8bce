/** The exports for packages that have a page of their own, such as the console. Not for users: it changes with what uses it. */
import type { Server } from 'node:http'
import type { Dispatcher, Logger } from '@elysia-microservices/transport/kit'
import type { Elysia } from 'elysia'
import { WEBSOCKET_LIMITS, type WebSocketLimits, webSocketOptions } from './options.ts'
import { type Admits, WebSocketDoor } from './server/door.ts'
import { listenForUpgrades } from './server/node.ts'
import { pluginOf } from './websocket.ts'

/** The handlers of a page's door, and the rule who may enter. */
export interface PageDoorInit {
  readonly path: string
  /** Has the handlers. No other door of the app leads to them, and this one to no others. */
  readonly dispatcher: Dispatcher
  /** Is asked for each upgrade and each request; in the place of `options.origins`. */
  readonly admits: Admits
  readonly limits: WebSocketLimits
  readonly logger: Logger
}

/** A door for one page. */
export interface PageDoor {
  /** Leads there from the port of an app. */
  readonly plugin: Elysia
  /** Opens it, if it is not open. */
  start(): Promise<void>
  /** Closes it, and cuts all connections. */
  stop(): Promise<void>
}

/** Makes a door for the page of a package. */
export function pageDoor({ path, dispatcher, admits, limits, logger }: PageDoorInit): PageDoor {
  const options = webSocketOptions({ path, limits, expose: ['>'], origins: '*', resume: false })
  const door = new WebSocketDoor(options, { admits })
  const server = door.newServer({ name: 'page', version: undefined, logger })
  let started: Promise<void> | undefined
  return {
    plugin: pluginOf(options, door, true),
    start() {
      started ??= server.start(dispatcher)
      return started
    },
    async stop() {
      started = undefined
      await server.stop({ drain: 0 })
    }
  }
}

/** Lets an app that does not listen itself answer upgrades for the path of a door, on a server of `node:http`. */
export function upgradesOf(server: Server, app: Elysia, path: string): void {
  listenForUpgrades(
    server,
    { fetch: (request) => app.handle(request) },
    [path],
    WEBSOCKET_LIMITS.receiveBuffer.byDefault
  )
}
