/** `service.describe()`, in the service's own process and, if the option `describe` allows it, for callers. */
import {
  DESCRIBE_ROUTE,
  describeRoute,
  figureSources,
  type IncomingMessage,
  mustBeBoolean,
  OptionError,
  type OptionTable,
  PatternNotFoundError,
  processNames,
  type ReceivedMessage,
  type Route,
  readFigures,
  readTable
} from '@elysia-microservices/transport/kit'
import type {
  DescribeOptions,
  HandlerDescription,
  PartFigures,
  ServiceDescription
} from '../description/description.ts'
import type { Ledger } from './ledger.ts'
import type { ServiceRunner } from './runner.ts'
import type { ServiceCore } from './service-core.ts'

/**
 * The callers to whom a service describes itself: all (`true`), none (`false`), or those for whose message a
 * function returns `true`.
 */
export type DescribeTo = boolean | ((message: ReceivedMessage) => boolean | Promise<boolean>)

/** The names that distinguish a service, and this process of the service, from others. */
export interface ServiceIdentity {
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly instance: string
}

const DESCRIBE_OPTIONS = {
  figures: { check: mustBeBoolean },
  callers: { check: mustBeBoolean }
} as const satisfies OptionTable<DescribeOptions>

/** Describes a service. @throws {OptionError} an option is invalid */
export function describeService(
  core: ServiceCore,
  runner: ServiceRunner,
  { name, version, instance }: ServiceIdentity,
  given: DescribeOptions = {},
  ledger?: Ledger
): ServiceDescription {
  const { figures: withFigures, callers: withCallers } = readTable('options', given, DESCRIBE_OPTIONS)
  const figures = withFigures === true ? core.figures() : undefined
  return {
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    instance,
    status: runner.status,
    transports: runner.stats(),
    handlers: core.describe(),
    ...(figures && { figures }),
    ...(withCallers === true && ledger !== undefined && { callers: ledger.read(), process: processNames() })
  }
}

/**
 * Lets callers ask for the description: of any service that they reach, of this service by its name, or of this
 * process by its id. A caller who is not allowed to ask gets the error for an unknown pattern.
 * @throws {OptionError} `describeTo` is invalid
 */
export function answerDescription(
  core: ServiceCore,
  { name, instance }: ServiceIdentity,
  describeTo: DescribeTo,
  describe: (options: DescribeOptions) => ServiceDescription
): void {
  if (describeTo === false) return
  if (describeTo !== true && typeof describeTo !== 'function')
    throw OptionError.expected('options.describe', 'a boolean or a function', describeTo)
  const answer = ({ data }: IncomingMessage) => {
    const asked = askedOf(data)
    const description = describe(asked)
    if (asked.figures !== true || figureSources().length === 0) return plain(description)
    return recentFigures().then((parts) => plain({ ...description, parts }))
  }
  core.reserve({
    routes:
      name === undefined
        ? [DESCRIBE_ROUTE]
        : [DESCRIBE_ROUTE, describeRoute(name), describeRoute(name, instance)],
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

/** Removes fields that are `undefined`, so that the description is the same as after JSON. */
function plain(description: ServiceDescription): ServiceDescription {
  return JSON.parse(JSON.stringify(description)) as ServiceDescription
}

/** Milliseconds for which figures are reused. Reading the figures of an outbox costs a query of its database. */
const RECENT = 5_000

let recent: { readonly at: number; readonly read: Promise<readonly PartFigures[]> } | undefined

function recentFigures(): Promise<readonly PartFigures[]> {
  const now = performance.now()
  if (recent === undefined || now - recent.at > RECENT) recent = { at: now, read: readFigures() }
  return recent.read
}

function askedOf(data: unknown): DescribeOptions {
  const { figures, callers } = Object(data) as DescribeOptions
  return { figures: figures === true, callers: callers === true }
}

/**
 * Adds to each route what the description says of its handlers. The description is made once, when a caller first
 * asks for routes.
 */
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

/** A part of the description of a handler as texts: its kind, and its schemas, streams and errors as JSON. */
function factsOf(
  handlers: readonly HandlerDescription[],
  { kind, route }: Route
): Readonly<Record<string, string>> {
  const described = handlers.find(
    (one) => one.kind === kind && one.patterns.some(({ pattern }) => pattern === route)
  )
  const { data, headers, response, streams, errors } = described ?? {}
  const facts = Object.entries({ data, headers, response, streams, errors }).filter(
    ([, fact]) => fact !== undefined
  )
  return { kind, ...Object.fromEntries(facts.map(([name, fact]) => [name, JSON.stringify(fact)])) }
}
