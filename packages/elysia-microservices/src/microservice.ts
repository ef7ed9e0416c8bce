/** `microservice()`: a service that an Elysia app uses as a plugin, or that listens by itself. */
import {
  consoleLogger,
  type SocketAddress,
  TcpServer,
  type TcpServerOptions,
  ValidationError
} from '@elysia-microservices/transport'
import type { AnyElysia } from 'elysia'
import { addChain } from './chain.ts'
import { Controllers } from './controller/controllers.ts'
import { settingsOf } from './controller/nest-app.ts'
import { follow } from './lifecycle.ts'
import type { ListenOptions, MicroserviceOptions } from './options.ts'
import { schemasCompiled } from './schema/typebox.ts'
import type { Microservice } from './service.ts'
import { ServiceCore } from './service-core.ts'
import type { ContextOf, Empty, EmptyScope, With } from './types/scope.ts'
import type { NoAnswers } from './types/service.ts'

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
  const { transport, controllers = [], resolve, lifecycle, nest, ...others } = options
  const { drain = DEFAULT_DRAIN, ...serverOptions } = others
  if (transport !== 'tcp') throw new ValidationError('options.transport', "'tcp'", transport)
  const logger = options.logger ?? consoleLogger
  const core = new ServiceCore(logger)
  if (controllers.length > 0)
    core.addControllers(new Controllers({ controllers, logger, ...settingsOf(resolve, lifecycle, nest) }))
  return newService(core, serverOptions, drain)
}

function newService(core: ServiceCore, options: TcpServerOptions, drain: number): Microservice {
  let server = new TcpServer(options)
  let listening: Promise<void> | undefined

  const service = ((app: AnyElysia) => {
    follow(app, {
      join: (host) => core.join(host),
      listen: () => service.listen(),
      stop: () => service.stop()
    })
    return app
  }) as Microservice

  async function start(): Promise<void> {
    await schemasCompiled()
    await core.startControllers()
    try {
      // Whatever the chain added after a handler is there for it as well.
      core.compileAll()
      await server.start(core.registry)
    } catch (error) {
      await core.stopControllers()
      throw error
    }
  }

  addChain(service, core, () => newService(core.newGroup(), options, drain))
  Object.assign(service, {
    async listen(where: number | ListenOptions = {}) {
      if (listening === undefined) {
        server = new TcpServer({ ...options, ...(typeof where === 'number' ? { port: where } : where) })
        listening = start()
      }
      try {
        await listening
      } catch (error) {
        listening = undefined
        throw error
      }
      return service
    },
    async stop() {
      const started = listening
      listening = undefined
      // A start that failed has told its caller; there is nothing to stop then.
      await started?.then(
        () => server.stop({ drain }).finally(() => core.stopControllers()),
        () => {}
      )
    }
  })
  return Object.defineProperty(service, 'address', { get: (): SocketAddress | undefined => server.address })
}
