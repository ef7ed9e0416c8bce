/** Ties a service to an Elysia app: it starts when the app listens and stops when the app stops. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import type { Role } from '../workers/role.ts'

/** What is started and stopped. All may be called more than once. */
export interface Startable {
  /** Gives decorators and store of the app that it follows. */
  join(app: AnyElysia): void
  listen(): Promise<unknown>
  stop(): Promise<void>
  /** What this process is. */
  readonly role: Role
  /** Is told how to stop the app that has started it. */
  follows(stopApp: () => Promise<unknown>): void
}

/** Makes the service follow the app, or the app that the app is used in. */
export function follow(app: AnyElysia, service: Startable): void {
  service.join(app)
  if (service.role === 'supervisor') return supervise(app, service)
  app.onStart((started) => {
    const host = isApp(started) ? started : app
    // What the app, or the app that it is used in, has by now is all there will be.
    service.join(host)
    start(host, service)
  })
  app.onStop(() => void service.stop())
  // The plugin was added to an app that is already listening.
  if (app.server) start(app, service)
}

/** Whether a start hook was handed an app: Elysia's adapter for Node hands over itself, which has a `stop` too. */
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

/** In a supervisor the app serves no HTTP: it would take connections that are the workers', on Node their port. */
function supervise(app: AnyElysia, service: Startable): void {
  app.listen = () => startOnly(app, service)
  // The app is used in another one, whose `listen` this one has not seen.
  app.onStart((started) => {
    if (!isApp(started)) {
      throw new OptionError(
        'options.workers',
        'A service with workers must be used in the app that listens, not in an app used in it: on Node, that app keeps its HTTP port from the workers'
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
