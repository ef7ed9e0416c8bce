/** Nest's lifecycle hooks. All hooks of one kind run together, and the next kind begins when they have ended. */
import type { Logger } from '@elysia-microservices/transport/kit'

const START = ['onModuleInit', 'onApplicationBootstrap'] as const
const STOP = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'] as const

/** Calls the start hooks, before the service listens. If a hook throws, the service does not start. */
export async function callStartHooks(instances: readonly object[]): Promise<void> {
  for (const hook of START) await Promise.all(instances.map((instance) => call(instance, hook)))
}

/**
 * Calls the stop hooks, after the last message was answered. If a hook throws, the error is logged, and the other
 * hooks still run.
 */
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
