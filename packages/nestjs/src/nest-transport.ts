/** Options in Nest's own form, `{ transport: Transport.RMQ, options }`, as a transport of this library. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { NestEnd } from '@elysia-microservices/transport/nest'
import { Transport } from '@nestjs/microservices'

/** Options as `createMicroservice` and `ClientsModule` of Nest take them. */
export interface NestForm {
  /** Nest's transport. The package with ours must be installed, such as `@elysia-microservices/rabbitmq`. */
  readonly transport: Transport
  /**
   * Nest's options of that transport; an option without a counterpart is refused. The page of each broker lists them.
   * Default: none.
   */
  readonly options?: object | undefined
}

const PACKAGES: ReadonlyMap<unknown, string> = new Map([
  [Transport.TCP, 'tcp'],
  [Transport.REDIS, 'redis'],
  [Transport.NATS, 'nats'],
  [Transport.MQTT, 'mqtt'],
  [Transport.GRPC, 'grpc'],
  [Transport.RMQ, 'rabbitmq'],
  [Transport.KAFKA, 'kafka']
])

/** Whether options have Nest's form. */
export function isNestForm(options: object): options is NestForm {
  return 'transport' in options && typeof options.transport === 'number'
}

/**
 * Translates options of Nest.
 * @param isNamed whether the server has a name or a group. Without one, each process gets every event, as in Nest
 * @throws {OptionError} an option has no counterpart, or the package of the transport is missing
 */
export function fromNestForm({ transport, options }: NestForm, isNamed: boolean): NestEnd {
  const name = PACKAGES.get(transport)
  if (name === undefined)
    throw new OptionError(
      'options.transport',
      `options.transport is Transport.${Transport[transport] ?? transport} of Nest, which has no counterpart here`
    )
  return load(`@elysia-microservices/${name}`, createRequire).fromNest(options, isNamed)
}

interface NestPackage {
  fromNest(options: object | undefined, isNamed: boolean): NestEnd
}

/**
 * Loads a package at once, because Nest's classes are made at once.
 * @param requireFrom makes the function that loads packages for a file
 * @throws {OptionError} the package is missing, or is there and cannot be loaded
 */
export function load(name: string, requireFrom: (file: string) => (name: string) => unknown): NestPackage {
  let cause: unknown
  // Strict package managers show this package only its own dependencies, and the application those of its own.
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')])
    try {
      return requireFrom(from)(name) as NestPackage
    } catch (error) {
      cause = isMissing(cause) ? error : cause
    }
  const what = isMissing(cause)
    ? `which is not there: npm install ${name}`
    : `which is there and cannot be loaded: ${(cause as Error).message}. Jest loads it with Node 24.9 or later`
  throw new OptionError('options.transport', `options.transport needs the package ${name}, ${what}`, cause)
}

function isMissing(error: unknown): boolean {
  return error === undefined || /MODULE_NOT_FOUND$/.test(String(Object(error).code))
}

/** Takes apart options in Nest's form: the transport with its options, and what stands beside them. */
export function inNestsForm(given: object): {
  readonly named: NestForm
  readonly others: object
} {
  const { transport = Transport.TCP, options, ...others } = given as Partial<NestForm>
  return { named: { transport, options }, others }
}
