/** Nest's lifecycle hooks: all of one kind run together, the next kind begins when they have ended. */
import type { Logger } from '@elysia-microservices/transport/kit'

const START = ['onModuleInit', 'onApplicationBootstrap'] as const
const STOP = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const

/** Before the service listens. What a hook throws keeps the service from starting. */
export async function callStartHooks(instances: readonly object[]): Promise<void> {
  for (const hook of START) await Promise.all(instances.map((instance) => call(instance, hook)))
}

/** After the last message was answered. What a hook throws is logged, and the others run. */
export async function callStopHooks(instances: readonly object[], logger: Logger): Promise<void> {
  for (const hook of STOP) {
    await Promise.all(
      instances.map((instance) =>
        call(instance, hook).catch((error: unknown) =>
          logger.error(`${instance.constructor.name}.${hook} failed`, error)
        )
      )
    )
  }
}

async function call(instance: object, hook: string): Promise<void> {
  const method: unknown = Reflect.get(instance, hook)
  if (typeof method === 'function') await method.call(instance)
}
