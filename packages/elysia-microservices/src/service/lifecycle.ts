/** Ties a service to an Elysia app: it starts when the app listens and stops when the app stops. */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'
import type { Role } from '@elysia-microservices/workers'
import type { AnyElysia } from 'elysia'
import { answerAtDoors, type Behind } from '../app/doors.ts'
import { follow } from '../app/follow.ts'
import { isApp, outermost } from '../app/outermost.ts'
import { canStop, type Stopping, stopWith } from '../app/stopping.ts'

/** Milliseconds after which a service says that nothing has started it. */
const UNHEARD = 5_000

/** A part that is started and stopped. All methods may be called more than once. */
export interface Startable extends Behind {
  /** The service in words. */
  readonly title: string
  readonly logger: Logger
  /** The role of this process. */
  readonly role: Role
  /** The apps that have started it and not stopped. */
  readonly hosts: Set<object>
  /** Whether it listens, or tries to. */
  readonly isStarted: boolean
  /** Gives decorators and store of the app that it follows. */
  join(app: AnyElysia): void
  listen(): Promise<unknown>
  stop(): Promise<void>
  /** Is told how to stop the app that has started it. */
  follows(stopApp: (cut?: boolean) => Promise<unknown>): void
}

/** Makes the service follow the app, or the app that the app is used in. */
export function followApp(app: AnyElysia, service: Startable): void {
  join(app, service)
  const heard = warnIfUnheard(service)
  if (service.role === 'supervisor') return supervise(outermost(app) ?? app, service)
  const stopped = (host: AnyElysia) => stopFor(host, service)
  // One object, so that an app that listens again waits for it once.
  const stopping: Stopping = { before: stopped }
  const started = (host: AnyElysia) => {
    heard()
    startFor(host, service, stopping)
  }
  follow(app, { started, stopped }, service.title)
}

function startFor(host: AnyElysia, service: Startable, stopping: Stopping): void {
  // By now the app, or the app that it is used in, has all decorators that it will have.
  join(host, service)
  service.hosts.add(host)
  listen(service)
  answerAtDoors(host, service)
  stopWith(host, stopping)
  if (canStop(host)) service.follows((cut) => host.stop(cut))
}

/** It serves all of its apps, so it stops with the last. */
async function stopFor(host: AnyElysia, service: Startable): Promise<void> {
  service.hosts.delete(host)
  if (service.hosts.size === 0) await service.stop()
}

/** Handlers keep the decorators and the store of the app that has started the service, if another one uses it. */
function join(app: AnyElysia, service: Startable): void {
  if (service.hosts.size === 0) service.join(app)
}

/**
 * Elysia awaits no start hook. The end of the process is said here, and not left to an unhandled rejection, which
 * many programs only log: an app whose messages go nowhere must not look healthy.
 */
function listen(service: Startable): void {
  service.listen().catch((error: unknown) => {
    service.logger.error(`${service.title} cannot listen; the process ends`, error)
    process.exit(1)
  })
}

/**
 * Not all ways into an app can be followed: `mount` takes nothing but HTTP, other servers only `app.fetch`.
 * @returns is called when the app was heard of
 */
function warnIfUnheard(service: Startable): () => void {
  const timer = setTimeout(() => {
    if (service.isStarted) return
    service.logger.warn(
      `${service.title} does not listen, because the app that uses it did not begin to listen within ${UNHEARD / 1000} s. Is it mounted, or served by its fetch? Then use the service in the app that listens, or call service.listen()`
    )
  }, UNHEARD).unref()
  return () => clearTimeout(timer)
}

/** In a supervisor the app serves no HTTP: it would take connections that are the workers', on Node their port. */
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
  listen(service)
  app.stop = async () => {
    await service.stop()
    return app
  }
  return app
}
