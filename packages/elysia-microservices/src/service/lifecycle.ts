/** Ties a service to an Elysia app: it starts when the app listens and stops when the app stops. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import type { Role } from '../workers/role.ts'

/** A service as its app starts and stops it. Each method may be called more than once. */
export interface Startable {
  /** Takes the decorators and the store of the app. */
  join(app: AnyElysia): void
  listen(): Promise<unknown>
  stop(): Promise<void>
  /** The part that this process plays. */
  readonly role: Role
  /** Takes the function that stops the app which has started the service. */
  follows(stopApp: () => Promise<unknown>): void
}

/** Makes the service follow the app, or the app that the app is used in. */
export function follow(app: AnyElysia, service: Startable): void {
  service.join(app)
  if (service.role === 'supervisor') return supervise(app, service)
  app.onStart((started) => {
    const host = isApp(started) ? started : app
    // By now the app, or the app it is used in, has all its decorators.
    service.join(host)
    start(host, service)
  })
  app.onStop(() => void service.stop())
  // The plugin was added to an app that is already listening.
  if (app.server) start(app, service)
}

/** Whether a start hook was given an app. Elysia's adapter for Node gives itself instead, which has a `stop` too. */
export function isApp(host: unknown): host is AnyElysia {
  return typeof host === 'object' && host !== null && 'decorator' in host && 'store' in host
}

function start(host: AnyElysia, service: Startable): void {
  // Elysia awaits no start hook. A service that cannot listen is an unhandled rejection, which ends the
  // process with the reason: an app whose messages go nowhere must not look healthy.
  void service.listen()
  const stop = host.stop
  // Nor does it await stop hooks; `await app.stop()` would return while messages are still being answered.
  host.stop = async (closeActiveConnections) => {
    const stopped = service.stop()
    const stoppedHost = await stop(closeActiveConnections)
    await stopped
    return stoppedHost
  }
  // Elysia's adapter for Node has no server here, and cannot be stopped.
  if (host.server) service.follows(() => host.stop())
}

/**
 * In a supervisor the app serves no HTTP: it would take connections meant for the workers, and on Node their port.
 */
function supervise(app: AnyElysia, service: Startable): void {
  app.listen = () => startOnly(app, service)
  // The app is used in another one, whose `listen` this one has not seen.
  app.onStart((started) => {
    if (!isApp(started)) {
      throw new OptionError(
        'options.workers',
        'A service with workers must be used in the app that listens, not in an app that this one uses: on Node, the app that listens would keep the HTTP port from the workers'
      )
    }
    void started.server?.stop(true)
    startOnly(started, service)
  })
}

function startOnly<App extends AnyElysia>(app: App, service: Startable): App {
  void service.listen()
  app.stop = async () => {
    await service.stop()
    return app
  }
  return app
}
