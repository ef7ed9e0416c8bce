/** `microservice()`: a service that an Elysia app uses as a plugin, or that listens without an app. */
import {
  type Address,
  isInDevelopment,
  nameProcess,
  OptionError,
  type ServerTransport,
  type ServiceStatus,
  serviceLoggerOf,
  storeOf
} from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { Chaos } from '../chaos/chaos.ts'
import { Controllers } from '../controller/controllers.ts'
import { settingsOf } from '../controller/nest-app.ts'
import type { DescribeOptions } from '../description/description.ts'
import type { ScopeIn } from '../types/carried.ts'
import type { Empty } from '../types/scope.ts'
import type { Typed } from '../types/service.ts'
import { addChain } from './chain.ts'
import { answerDescription, type DescribeTo, describeService, type ServiceIdentity } from './describe.ts'
import { DISPATCHER } from './dispatcher-of.ts'
import { Ledger } from './ledger.ts'
import { followApp } from './lifecycle.ts'
import { type MicroserviceOptions, readOptions } from './options.ts'
import { type RunnerSettings, ServiceRunner } from './runner.ts'
import type { Microservice } from './service.ts'
import { ServiceCore } from './service-core.ts'

/**
 * Makes a service. `microservice<typeof app>()` names the app that will use the service: the handlers' types then
 * have the app's decorators and store. `microservice<typeof auth>()` names a service whose hooks and guards run
 * before the handlers of the new service: the handlers' types then have the fields that `auth` adds, and only a
 * service that adds these fields can use the new service.
 * @throws {OptionError} an option or a controller is invalid
 * @example
 * ```ts
 * import { type Message, microservice } from 'elysia-microservices'
 *
 * const math = microservice({ transport: 'tcp', port: 4000 })
 *   .message('math.sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
 * await math.listen()
 * ```
 */
export function microservice<
  Above extends AnyElysia | (Typed & { readonly message: unknown }) | undefined = undefined
>(options?: MicroserviceOptions): Microservice<Empty, Empty, ScopeIn<Above>>
export function microservice(options?: MicroserviceOptions): object {
  const { service, transports } = readOptions(options)
  const { name, group, version, controllers, nest, chaos, drain, workers } = service
  const { shutdownOn, waitForConnection } = service
  const logger = serviceLoggerOf(service.logger)
  nameProcess(name)
  const core = new ServiceCore()
  core.environment.logger = logger
  const nestApp = settingsOf(nest)
  if (controllers.length > 0) core.addControllers(new Controllers({ controllers, logger, ...nestApp }))
  if (chaos !== undefined) core.addOutermost(new Chaos(chaos, logger).middleware)
  const instance = crypto.randomUUID()
  const context = { name, group, version, instance, logger }
  const store = service.store === undefined ? undefined : storeOf(service.store, transports)
  const storing = store && { store, server: store.server(context) }
  const servers = transports.map((transport) => transport.server(context))
  const own = { name, group, drain, logger, workers, shutdownOn, waitForConnection }
  const settings = { ...own, transports, servers, storing }
  // By default a service describes itself to nobody, except under the development command, whose page shows all
  // services.
  const { describe = isInDevelopment() } = service
  return newService(core, settings, { name, version, instance }, describe)
}

/** The signals at which a service stops that listens by itself: those of platforms, and of Ctrl-C. */
const SHUTDOWN_DEFAULT = ['SIGTERM', 'SIGINT'] as const

function newService(
  core: ServiceCore,
  settings: RunnerSettings,
  identity: ServiceIdentity,
  describeTo: DescribeTo
): Microservice {
  const runner = new ServiceRunner(core, settings)
  const { transports } = settings
  if (transports.length > 0) core.own = { title: runner.title, transports, isStarted: () => runner.isStarted }
  const service = ((app: AnyElysia) => {
    followApp(app, {
      title: runner.title,
      logger: settings.logger,
      role: runner.role,
      hosts: runner.hosts,
      get isStarted() {
        return runner.isStarted
      },
      get isLeft() {
        return runner.isLeft
      },
      join: (host) => core.join(host),
      listen: (others) => runner.listen([], others),
      stop: () => runner.stop(),
      answerAt: (door) => runner.answerAt(door)
    })
    return app
  }) as unknown as Microservice
  runner.service = service

  const groupSettings = {
    ...settings,
    transports: [],
    servers: [] as readonly ServerTransport[],
    storing: undefined,
    workers: undefined,
    shutdownOn: undefined
  }
  addChain(service, core, () => newService(core.newGroup(), groupSettings, identity, false))
  // Callers are counted only for the description. So a service that nobody can ask for its description counts none.
  const ledger = describeTo === false ? undefined : new Ledger()
  if (ledger !== undefined) core.addOutermost(ledger.middleware)
  const describe = (asked?: DescribeOptions) => describeService(core, runner, identity, asked, ledger)
  answerDescription(core, identity, describeTo, describe)
  Object.assign(service, {
    describe,
    async listen(...given: readonly unknown[]) {
      refuseArguments(given)
      await runner.listen(SHUTDOWN_DEFAULT)
      return service
    },
    workers: {
      role: runner.role,
      figures: () => runner.workers(),
      restart: () => runner.restartWorkers()
    },
    stats: () => runner.stats(),
    stop: () => runner.stop(),
    [Symbol.asyncDispose]: () => runner.stop(),
    [DISPATCHER]: () => {
      core.compileAll()
      return core.dispatcher(settings.logger)
    }
  })
  return Object.defineProperties(service, {
    // A function has a name already, which would be that of a variable in this file.
    name: { value: identity.name },
    address: { get: (): Address | undefined => runner.address },
    draining: { get: (): AbortSignal => core.draining },
    status: { get: (): ServiceStatus => runner.status }
  })
}

/** Elysia's `listen` takes a port, which a service would ignore. @throws {OptionError} there is an argument */
function refuseArguments([given]: readonly unknown[]): void {
  if (given === undefined) return
  const cure =
    "left out: a port is an option of the transport, as in microservice({ transport: 'tcp', port: 4000 })"
  throw OptionError.expected('The argument of listen()', cure, given)
}
