/** The description of a service that need not be trusted: what is not what it must be is left out. */
import { OptionError, RpcError } from '@elysia-microservices/transport/kit'
import type { ServiceDescription } from 'elysia-microservices'
import type { UntypedClient } from 'elysia-microservices/client'
import { DESCRIBE_ROUTE, describeRoute } from 'elysia-microservices/kit'
import type { Arguments } from './arguments.ts'

type HandlerDescription = ServiceDescription['handlers'][number]
type PatternDescription = HandlerDescription['patterns'][number]

/** The fields of a description that are shown. */
export interface Described {
  readonly name: string
  /** The process that has answered; missing if it does not say so. */
  readonly instance?: string
  readonly status: string
  readonly transports: ServiceDescription['transports']
  readonly handlers: readonly HandlerDescription[]
  /** Missing if nothing counts. */
  readonly figures?: NonNullable<ServiceDescription['figures']>
  /** As it came. */
  readonly whole: unknown
}

/**
 * Asks a service what it is.
 * @throws {OptionError} all services share the transport, and it was not said which one is asked
 * @throws {PatternNotFoundError} it does not say so, or not to us
 * @throws {RpcError} what it says is no description
 */
export async function askDescription(
  client: UntypedClient,
  { headers, service, instance: asked }: Pick<Arguments, 'headers' | 'service' | 'instance'>,
  figures: boolean
): Promise<Described> {
  if (service === undefined && client.traits.shares === 'engine')
    throw new OptionError(
      '--service',
      'All services share this engine; name the one to ask by --service=<name>'
    )
  const route = service === undefined ? DESCRIBE_ROUTE : describeRoute(service, asked)
  const whole = await client.request(route, { figures }, { headers })
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
