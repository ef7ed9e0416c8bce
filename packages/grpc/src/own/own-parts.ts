/** Health and reflection of one server, made of its options. */
import type { Dispatcher, Logger, Timer, TimerOwner } from '@elysia-microservices/transport/kit'
import type { CheckedGrpcServerOptions } from '../options/options.ts'
import { OWN_DESCRIPTORS } from './descriptors.ts'
import { FileIndex } from './file-index.ts'
import { HEALTH_NAME, Health } from './health.ts'
import { type OwnService, OwnServices, serviceOf } from './own-services.ts'
import { Readiness } from './readiness.ts'
import { REFLECTION_NAMES, Reflection } from './reflection.ts'

/** The services that a server answers itself. */
export interface OwnParts {
  readonly services: OwnServices
  /** The server begins to stop. */
  stopping(): void
}

/** Makes the services of a server that starts. */
export function ownParts(
  options: Pick<CheckedGrpcServerOptions, 'methods' | 'health' | 'reflection'>,
  dispatcher: Dispatcher,
  logger: Logger,
  newTimer: (owner: TimerOwner) => Timer
): OwnParts {
  const { methods, health: healthOptions, reflection } = options
  const handled = new Set(dispatcher.routes().map(({ route = '' }) => serviceOf(route)))
  const ofUser = (methods.services ?? []).map(({ name }) => name)
  const all: OwnService[] = []
  let stopping = () => {}
  // A user who has handlers for such a service wants these.
  if (healthOptions !== undefined && !handled.has(HEALTH_NAME)) {
    const now = () => performance.now()
    const readiness = new Readiness(healthOptions, logger, now)
    const health = new Health({ readiness, services: ofUser, newTimer })
    all.push(health)
    stopping = () => {
      readiness.isStopping = true
      health.stopping()
    }
  }
  if (reflection) {
    const names = REFLECTION_NAMES.filter((name) => !handled.has(name))
    const services = [...new Set([...ofUser, ...all.map(({ name }) => name), ...names])].sort()
    let index: FileIndex | undefined
    const files = () => {
      index ??= new FileIndex([methods.descriptors?.() ?? new Uint8Array(), ...OWN_DESCRIPTORS.map(read)])
      return index
    }
    all.push(...names.map((name) => new Reflection(name, services, files)))
  }
  return { services: new OwnServices(all), stopping }
}

function read(base64: string): Uint8Array {
  return Buffer.from(base64, 'base64')
}
