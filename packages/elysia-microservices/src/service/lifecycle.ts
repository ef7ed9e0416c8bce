/** Ties a service to an Elysia app: the service starts when the app listens and stops when the app stops. */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'
import type { Role } from '@elysia-microservices/workers'
import type { AnyElysia } from 'elysia'
import { answerAtDoors, type Behind } from '../app/doors.ts'
import { follow } from '../app/follow.ts'
import { isApp, outermost } from '../app/outermost.ts'
import { canStop, type Stopping, stopWith } from '../app/stopping.ts'
import type { Hosts } from './runner.ts'

/** Milliseconds after which the log warns that no app has started the service. */
const UNHEARD = 5_000

/** A service, as far as an app starts and stops it. All methods may be called more than once. */
export interface Startable extends Behind {
  /** The service's name in log lines. */
  readonly title: string
  readonly logger: Logger
  /** The role of this process. */
  readonly role: Role
  readonly hosts: Hosts
  /** Whether the service listens, or is starting. */
  readonly isStarted: boolean
  /** Whether the service was told to stop since its last start. */
  readonly isLeft: boolean
  /** Gives the service the decorators and the store of the app that it follows. */
  join(app: AnyElysia): void
  /** @param others is called when the service has started: no stored event begins before what it returns has resolved */
  listen(others: () => Promise<unknown>): Promise<unknown>
  stop(): Promise<void>
}

/** Makes the service follow the app, or the outermost app in which the app is used. */
export function followApp(app: AnyElysia, service: Startable): void {
  join(app, service)
  const heard = warnIfUnheard(service)
  if (service.role === 'supervisor') return supervise(outermost(app) ?? app, service)
  const stopped = (host: AnyElysia) => stopFor(host, service)
  // All starts share this object, so that an app that listens again stops the service only once.
  const stopping: Stopping = { before: stopped }
  const started = (host: AnyElysia) => {
    heard()
    startFor(host, service, stopping)
  }
  follow(app, { started, stopped }, service.title)
}

function startFor(host: AnyElysia, service: Startable, stopping: Stopping): void {
  // By now the app, or the app in which it is used, has all its decorators.
  join(host, service)
  warnOfUnseen(host, service)
  service.hosts.set(host, canStop(host) ? (cut) => host.stop(cut) : undefined)
  listen(service, host)
  answerAtDoors(host, service)
  stopWith(host, stopping)
}

/** A service may have been started by several apps. It stops together with the last of them. */
async function stopFor(host: AnyElysia, service: Startable): Promise<void> {
  service.hosts.delete(host)
  if (service.hosts.size === 0) await service.stop()
}

/**
 * If several apps use the service, its handlers keep the decorators and the store of the app that has started it
 * first.
 */
function join(app: AnyElysia, service: Startable): void {
  if (service.hosts.size === 0) service.join(app)
}

/** Warns if a further app has other decorators or another store than the first, because the handlers see only those. */
function warnOfUnseen(host: AnyElysia, service: Startable): void {
  const [first] = service.hosts.keys()
  if (first === undefined || service.hosts.has(host)) return
  const own = ({ store, decorator }: AnyElysia) => Object.entries<unknown>({ ...store, ...decorator })
  const seen = new Map(own(first as AnyElysia))
  const unseen = own(host).filter(([name, value]) => !Object.is(seen.get(name), value))
  if (unseen.length === 0) return
  const names = unseen.map(([name]) => `'${name}'`).join(', ')
  service.logger.warn(
    `${service.title} is used by several apps that listen: it listens once, and its handlers see the decorators and the store of the first app, without ${names} of another one. Make a service for each app, or add them to the service with decorate() and state()`
  )
}

/** The services of each app that are starting now. */
const starting = new WeakMap<AnyElysia, Set<Promise<unknown>>>()

/**
 * Starts the service. If another service of the app cannot start, the process ends, so no stored event begins before all
 * of them have started. Elysia does not await start hooks. So the process ends here with a line in the log, and not
 * through an unhandled rejection, which many programs only log: an app whose service does not run must not look
 * healthy.
 */
function listen(service: Startable, host: AnyElysia): void {
  const all = starting.get(host) ?? new Set()
  starting.set(host, all)
  const started: Promise<unknown> = service
    .listen(() => Promise.all(all))
    .catch((error: unknown) => {
      // The start has not failed, but was ended.
      if (service.isLeft) return
      service.logger.error(`${service.title} cannot listen; the process ends`, error)
      process.exit(1)
    })
    .finally(() => all.delete(started))
  all.add(started)
}

/**
 * Warns if no app starts the service. Not every app can be followed: `mount` takes only the HTTP part of an app,
 * and other servers call only `app.fetch`.
 * @returns the function to call when an app has started the service
 */
function warnIfUnheard(service: Startable): () => void {
  const timer = setTimeout(() => {
    if (service.isStarted) return
    service.logger.warn(
      `${service.title} does not listen, because the app that uses it did not begin to listen within ${UNHEARD / 1000} s. If that app is mounted or served by its fetch, use the service in the app that listens, or call service.listen()`
    )
  }, UNHEARD).unref()
  return () => clearTimeout(timer)
}

/** In a supervisor the app must not serve HTTP: it would take connections from the workers, and on Node their port. */
function supervise(app: AnyElysia, service: Startable): void {
  app.listen = () => startOnly(app, service)
  // The app is used in another app, whose `listen` has not been replaced.
  app.onStart((started) => {
    if (!isApp(started)) {
      throw new OptionError(
        'options.workers',
        'A service with workers must be used in the app that listens, not in an app that another app uses: on Node, the app that listens would take the HTTP port of the workers'
      )
    }
    void started.server?.stop(true)
    startOnly(started, service)
  })
}

function startOnly<App extends AnyElysia>(app: App, service: Startable): App {
  listen(service, app)
  app.stop = async () => {
    await service.stop()
    return app
  }
  return app
}
