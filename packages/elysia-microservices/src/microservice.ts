/** `microservice()`: a service that an Elysia app uses as a plugin, or that listens by itself. */
import {
  consoleLogger,
  type SocketAddress,
  type Source,
  type TlsServerOptions,
  ValidationError
} from '@elysia-microservices/transport'
import type { AnyElysia } from 'elysia'
import { addChain } from './chain.ts'
import { Chaos } from './chaos/chaos.ts'
import { Controllers } from './controller/controllers.ts'
import { settingsOf } from './controller/nest-app.ts'
import { follow } from './lifecycle.ts'
import type { ListenOptions, MicroserviceOptions } from './options.ts'
import { type RunnerSettings, ServiceRunner } from './runner.ts'
import type { Microservice } from './service.ts'
import { ServiceCore } from './service-core.ts'
import type { ContextOf, Empty, EmptyScope, With } from './types/scope.ts'
import type { NoAnswers } from './types/service.ts'
import { checkWorkers } from './workers/option.ts'

const DEFAULT_DRAIN = 10_000

/**
 * Makes a service. `microservice<typeof app>()` says which app will use it: handlers see its decorators and
 * its store then.
 * @throws {ValidationError} an option or a controller is not what it must be
 */
export function microservice(options: MicroserviceOptions): Microservice
export function microservice<App extends AnyElysia>(
  options: MicroserviceOptions
): Microservice<NoAnswers, Empty, With<EmptyScope, 'context', ContextOf<App>>>
export function microservice(options: MicroserviceOptions): Microservice {
  const { transport, controllers = [], resolve, lifecycle, nest, chaos, ...others } = options
  const { drain = DEFAULT_DRAIN, workers, ...server } = others
  if (transport !== 'tcp') throw new ValidationError('options.transport', "'tcp'", transport)
  checkWorkers(workers, options.path)
  const logger = options.logger ?? consoleLogger
  const core = new ServiceCore(logger)
  if (controllers.length > 0)
    core.addControllers(new Controllers({ controllers, logger, ...settingsOf(resolve, lifecycle, nest) }))
  const faults = chaos === undefined ? undefined : new Chaos(chaos, logger)
  return newService(core, { server, drain, logger, workers, chaos: faults })
}

function newService(core: ServiceCore, settings: RunnerSettings): Microservice {
  const runner = new ServiceRunner(core, settings)
  const service = ((app: AnyElysia) => {
    follow(app, {
      role: runner.role,
      join: (host) => core.join(host),
      listen: () => runner.listen({}),
      stop: () => runner.stop(),
      follows: (stopApp) => runner.follows(stopApp)
    })
    return app
  }) as Microservice

  const groupSettings = { ...settings, workers: undefined, chaos: undefined }
  addChain(service, core, () => newService(core.newGroup(), groupSettings))
  Object.assign(service, {
    role: runner.role,
    async listen(where: number | ListenOptions = {}) {
      await runner.listen(placeOf(where))
      return service
    },
    reloadTls: (source?: Source<TlsServerOptions>) => runner.reloadTls(source),
    reload: () => runner.reload(),
    workers: () => runner.workers(),
    stats: () => runner.stats(),
    stop: () => runner.stop()
  })
  return Object.defineProperty(service, 'address', { get: (): SocketAddress | undefined => runner.address })
}

function placeOf(where: number | ListenOptions): ListenOptions {
  if (typeof where === 'number') return { port: where, path: undefined }
  // Whoever names a port does not want the service's own socket file.
  return where.path === undefined && (where.port !== undefined || where.host !== undefined)
    ? { ...where, path: undefined }
    : where
}
