/** `microservice()`: a service that an Elysia app uses as a plugin, or that listens by itself. */
import {
  type Address,
  checkLogger,
  consoleLogger,
  loggerOf,
  milliseconds,
  type ServerTransport,
  type ServiceStatus
} from '@elysia-microservices/transport/kit'
import type { AnyElysia } from 'elysia'
import { Chaos } from '../chaos/chaos.ts'
import { Controllers } from '../controller/controllers.ts'
import { settingsOf } from '../controller/nest-app.ts'
import type { DescribeOptions } from '../description/description.ts'
import type { ContextOf, Empty, EmptyScope, With } from '../types/scope.ts'
import type { NoAnswers } from '../types/service.ts'
import { checkWorkers } from '../workers/option.ts'
import { addChain } from './chain.ts'
import { answerDescription, describeService } from './describe.ts'
import { DISPATCHER } from './dispatcher-of.ts'
import { followApp } from './lifecycle.ts'
import { type MicroserviceOptions, readOptions, type ServiceOptions } from './options.ts'
import { type RunnerSettings, ServiceRunner } from './runner.ts'
import type { Microservice } from './service.ts'
import { ServiceCore } from './service-core.ts'

const DEFAULT_DRAIN = 10_000

/**
 * Makes a service. `microservice<typeof app>()` says which app will use the service: then handlers see the app's
 * decorators and store.
 * @throws {OptionError} an option or a controller is not what it must be
 * @example
 * ```ts
 * import { type Message, microservice } from 'elysia-microservices'
 *
 * const math = microservice({ transport: 'tcp', port: 4000 })
 *   .message('math.sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
 * await math.listen()
 * ```
 */
export function microservice(options: MicroserviceOptions): Microservice
export function microservice<App extends AnyElysia>(
  options: MicroserviceOptions
): Microservice<NoAnswers, Empty, With<EmptyScope, 'context', ContextOf<App>>>
export function microservice(options: MicroserviceOptions): Microservice {
  const { service, transports } = readOptions(options)
  const { name, version, controllers = [], nest, chaos, drain = DEFAULT_DRAIN, workers, shutdownOn } = service
  const { logger: given = consoleLogger } = service
  checkLogger('options.logger', given)
  const logger = loggerOf(given)
  milliseconds(0, 'options.drain', drain)
  checkWorkers(workers)
  const core = new ServiceCore()
  core.environment.logger = logger
  const settings = settingsOf(nest)
  if (controllers.length > 0) core.addControllers(new Controllers({ controllers, logger, ...settings }))
  if (chaos !== undefined) core.addOutermost(new Chaos(chaos, logger).around)
  const servers = transports.map((transport) => transport.server({ name, version, logger }))
  return newService(core, { name, servers, drain, logger, workers, shutdownOn }, service)
}

function newService(
  core: ServiceCore,
  settings: RunnerSettings,
  options: Pick<ServiceOptions, 'name' | 'version' | 'describe'> = {}
): Microservice {
  const runner = new ServiceRunner(core, settings)
  const service = ((app: AnyElysia) => {
    followApp(app, {
      title: runner.title,
      logger: settings.logger,
      role: runner.role,
      hosts: runner.hosts,
      get isStarted() {
        return runner.isStarted
      },
      join: (host) => core.join(host),
      listen: () => runner.listen(),
      stop: () => runner.stop(),
      follows: (stopApp) => runner.follows(stopApp)
    })
    return app
  }) as Microservice

  const groupSettings = {
    ...settings,
    servers: [] as readonly ServerTransport[],
    workers: undefined,
    shutdownOn: undefined
  }
  addChain(service, core, () => newService(core.newGroup(), groupSettings))
  const describe = (asked?: DescribeOptions) => describeService(core, runner, options, asked)
  answerDescription(core, options.describe, describe)
  Object.assign(service, {
    describe,
    role: runner.role,
    async listen() {
      await runner.listen()
      return service
    },
    restartWorkers: () => runner.restartWorkers(),
    workers: () => runner.workers(),
    stats: () => runner.stats(),
    stop: () => runner.stop(),
    [DISPATCHER]: () => core.dispatcher(settings.logger)
  })
  return Object.defineProperties(service, {
    address: { get: (): Address | undefined => runner.address },
    draining: { get: (): AbortSignal => core.draining },
    status: { get: (): ServiceStatus => runner.status }
  })
}
