/** `service.describe()`, for whoever holds the service and, if it says so, for callers. */
import {
  type IncomingMessage,
  OptionError,
  PatternNotFoundError,
  type ReceivedMessage,
  type Route
} from '@elysia-microservices/transport/kit'
import {
  DESCRIBE_ROUTE,
  type DescribeOptions,
  type HandlerDescription,
  type ServiceDescription
} from '../description/description.ts'
import type { ServiceRunner } from './runner.ts'
import type { ServiceCore } from './service-core.ts'

/** Who may ask a service what it is: everybody, nobody, or whose message a function says yes to. */
export type DescribeTo = boolean | ((message: ReceivedMessage) => boolean | Promise<boolean>)

/** Describes a service. */
export function describeService(
  core: ServiceCore,
  runner: ServiceRunner,
  { name, version }: { readonly name?: string | undefined; readonly version?: string | undefined },
  { figures: withFigures }: DescribeOptions = {}
): ServiceDescription {
  const figures = withFigures === true ? core.figures() : undefined
  return {
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    status: runner.status,
    transports: runner.stats(),
    handlers: core.describe(),
    ...(figures && { figures })
  }
}

/**
 * Lets callers ask for the description. Whoever may not is told that there is no such pattern.
 * @throws {OptionError} `describeTo` is not what it must be
 */
export function answerDescription(
  core: ServiceCore,
  describeTo: DescribeTo | undefined,
  describe: (options: DescribeOptions) => ServiceDescription
): void {
  if (describeTo === undefined || describeTo === false) return
  if (describeTo !== true && typeof describeTo !== 'function')
    throw OptionError.expected('options.describe', 'a boolean or a function', describeTo)
  const answer = ({ data }: IncomingMessage) =>
    // Undefined fields would be refused by no codec, but are not what JSON carries.
    JSON.parse(JSON.stringify(describe({ figures: Object(data).figures === true }))) as ServiceDescription
  core.reserve({
    route: DESCRIBE_ROUTE,
    tell: describeTo === true ? (routes) => withFacts(core, routes) : undefined,
    answer:
      describeTo === true
        ? answer
        : async (message) => {
            if ((await describeTo(message)) === true) return answer(message)
            throw PatternNotFoundError.of(message.pattern)
          }
  })
}

/** Routes with what the description says of their handlers. It is made once, when somebody asks for the first time. */
function withFacts(core: ServiceCore, routes: readonly Route[]): readonly Route[] {
  let handlers: readonly HandlerDescription[] | undefined
  return routes.map((route) => ({
    ...route,
    facts() {
      handlers ??= core.describe()
      return factsOf(handlers, route)
    }
  }))
}

/** What the description says of a handler: its kind, and its schemas as JSON. */
function factsOf(
  handlers: readonly HandlerDescription[],
  { kind, route }: Route
): Readonly<Record<string, string>> {
  const described = handlers.find(
    (one) => one.kind === kind && one.patterns.some(({ pattern }) => pattern === route)
  )
  const { data, headers, response } = described ?? {}
  const schemas = Object.entries({ data, headers, response }).filter(([, schema]) => schema !== undefined)
  return { kind, ...Object.fromEntries(schemas.map(([name, schema]) => [name, JSON.stringify(schema)])) }
}
