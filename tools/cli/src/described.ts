/** Reads the description of an untrusted service; invalid parts are left out. */
import { insideOf, OptionError, PatternNotFoundError, RpcError } from '@elysia-microservices/transport/kit'
import type { UntypedClient } from 'elysia-microservices/client'
import type { ServiceDescription } from 'elysia-microservices/describe'
import { DESCRIBE_ROUTE, describeRoute } from 'elysia-microservices/kit'
import type { Arguments } from './arguments.ts'

export type HandlerDescription = ServiceDescription['handlers'][number]
type PatternDescription = HandlerDescription['patterns'][number]

/** The parts of a description that are shown. */
export interface Described {
  readonly name: string
  /** The id of the process that has answered; missing if the answer has none. */
  readonly instance?: string
  readonly status: string
  readonly transports: ServiceDescription['transports']
  readonly handlers: readonly HandlerDescription[]
  /** The figures of patterns; missing if the service does not count messages. */
  readonly figures?: NonNullable<ServiceDescription['figures']>
  /** The description as it was received. */
  readonly whole: unknown
}

/**
 * Asks a service for its description.
 * @throws {OptionError} all services share the transport, and the user has not named the service to ask
 * @throws {PatternNotFoundError} the service does not describe itself, or not to this caller
 * @throws {RpcError} the answer is not a description
 */
export async function askDescription(
  client: UntypedClient,
  { headers, service, instance: asked }: Pick<Arguments, 'headers' | 'service' | 'instance'>,
  figures: boolean
): Promise<Described> {
  if (service === undefined && insideOf(client)?.traits.shares === 'engine')
    throw new OptionError(
      '--service',
      'All services share this engine; name the service to ask with --service=<name>'
    )
  const route = service === undefined ? DESCRIBE_ROUTE : describeRoute(service, asked)
  const whole = await client.request(route, { figures }, { headers }).catch((error: unknown) => {
    throw error instanceof PatternNotFoundError ? notDescribed(error, service) : error
  })
  const {
    name,
    version,
    instance,
    status,
    transports,
    handlers,
    figures: counted
  } = Object(whole) as Record<string, unknown>
  if (!Array.isArray(handlers) || !Array.isArray(transports))
    throw new RpcError(
      'The description of the service has no lists of handlers and transports; is it a service of this library?'
    )
  return {
    name: `${typeof name === 'string' ? name : 'a service without a name'}${typeof version === 'string' ? ` ${version}` : ''}`,
    ...(typeof instance === 'string' && { instance }),
    status: String(status),
    transports: transports.filter((each) => typeof Object(each).transport === 'string'),
    handlers: handlers.filter(isHandler),
    ...(Array.isArray(counted) && { figures: counted.filter(isFigures) }),
    whole
  }
}

/** A service of this library answers callers only if its option says so, which the answer does not tell. */
function notDescribed(error: PatternNotFoundError, service: string | undefined): PatternNotFoundError {
  const who = service === undefined ? 'The service' : `No service called ${service}`
  const what = service === undefined ? 'does not describe itself to this caller' : 'describes itself here'
  return new PatternNotFoundError(
    `${who} ${what} (${error.message}); its option must allow it: microservice({ describe: true }), or a function that returns true`,
    error
  )
}

function isHandler(value: unknown): value is HandlerDescription {
  const { kind, patterns } = Object(value) as Partial<HandlerDescription>
  return (kind === 'message' || kind === 'event') && Array.isArray(patterns) && patterns.every(isPattern)
}

function isPattern(value: unknown): value is PatternDescription {
  return typeof (Object(value) as Partial<PatternDescription>).pattern === 'string'
}

function isFigures(value: unknown): value is NonNullable<ServiceDescription['figures']>[number] {
  const { pattern, inFlight, outcomes, durations } = Object(value) as Record<string, unknown>
  const { bounds, counts } = Object(durations) as Record<string, unknown>
  return (
    typeof pattern === 'string' &&
    typeof inFlight === 'number' &&
    isNumbers(Object.values(Object(outcomes))) &&
    isNumbers(bounds) &&
    isNumbers(counts)
  )
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number')
}
