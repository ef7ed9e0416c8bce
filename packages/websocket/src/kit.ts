/**
 * Exports for packages that serve a page, such as the console. Not for users: these exports may change in any
 * version.
 */
import type { Server } from 'node:http'
import type { Dispatcher, Logger } from '@elysia-microservices/transport/kit'
import type { Elysia } from 'elysia'
import { WEBSOCKET_LIMITS, type WebSocketLimits, webSocketOptions } from './options.ts'
import { WebSocketDoor } from './server/door.ts'
import { listenForUpgrades } from './server/node.ts'
import type { Admits } from './server/services.ts'
import { pluginOf } from './websocket.ts'

/** The handlers behind a page's door, and the rule that decides who may connect. */
export interface PageDoorInit {
  readonly path: string
  /** The dispatcher of the handlers. Only this door leads to these handlers, and it leads to no others. */
  readonly dispatcher: Dispatcher
  /** Called for each upgrade and each request, in place of checking `options.origins`. */
  readonly admits: Admits
  readonly limits: WebSocketLimits
  readonly logger: Logger
}

/** A door for one page. */
export interface PageDoor {
  /** The Elysia plugin that makes the door reachable on the port of an app. */
  readonly plugin: Elysia
  /** Opens the door if it is not open. */
  start(): Promise<void>
  /** Closes the door and cuts all its connections. */
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

/** Makes an app answer upgrades for a door's path on a server of `node:http`, if the app does not listen itself. */
export function upgradesOf(server: Server, app: Elysia, path: string): void {
  listenForUpgrades(server, { fetch: (request) => app.handle(request) }, [path], {
    receiveBuffer: WEBSOCKET_LIMITS.receiveBuffer.byDefault,
    handshake: WEBSOCKET_LIMITS.handshake.byDefault
  })
}
