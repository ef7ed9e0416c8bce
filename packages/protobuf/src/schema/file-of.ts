/** Makes the model of a `.proto` from the description of a service. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { pascalCase, snakeCase } from '../words.ts'
import { Collected } from './collected.ts'
import type { DescribedHandler, DescribedService } from './described.ts'
import type { FileModel, MethodModel, Type } from './model.ts'
import { messageOf } from './of-schema.ts'
import { EMPTY } from './reading.ts'

/** How the file is called inside. */
export interface FileNames {
  readonly package: string
  readonly service: string
}

/** The names of the file of a service: those that it had before, or those of the service. */
export function namesOf(
  { name = 'service' }: DescribedService,
  before: FileNames | undefined,
  given: { readonly [Name in keyof FileNames]?: FileNames[Name] | undefined }
): FileNames {
  const scope = given.package ?? before?.package ?? (snakeCase(name) || 'service')
  if (!/^[a-z_]\w*(?:\.[a-z_]\w*)*$/i.test(scope))
    throw OptionError.expected(
      'options.package',
      "the name of a package of protobuf, such as 'shop.orders.v1'",
      scope
    )
  return { package: scope, service: given.service ?? before?.service ?? (pascalCase(name) || 'Service') }
}

/**
 * @throws {OptionError} a schema has parts for which protobuf has no word, with all their paths; or no pattern can be a
 * method
 */
export function fileOf(service: DescribedService, names: FileNames): FileModel {
  const into = new Collected([names.service])
  const methods = new Map<string, MethodModel>()
  const left: string[] = []
  for (const { handler, pattern } of inOrder(service)) {
    if (pattern.kind !== 'exact') {
      left.push(pattern.pattern)
      continue
    }
    const name = methodName(pattern.pattern, service.name)
    const known = methods.get(name)
    if (known === undefined) methods.set(name, methodOf(into, handler, pattern.pattern, name))
    else if (known.pattern !== pattern.pattern)
      into.problems.push(
        `'${pattern.pattern}' and '${known.pattern}' would both be the method ${name}; rename one of the patterns`
      )
  }
  if (into.problems.length > 0)
    throw new OptionError(
      'service',
      `The service ${names.service} cannot be written as a .proto:\n${into.problems.map((one) => `  ${one}`).join('\n')}`
    )
  if (methods.size === 0)
    throw new OptionError(
      'service',
      `The service ${names.service} has no pattern that can be a method of a .proto`
    )
  return {
    ...names,
    methods: [...methods.values()],
    messages: into.messages,
    enums: into.enums,
    notes: left.length === 0 ? [] : [`Not here, because they stand for many names: ${left.join(', ')}`]
  }
}

/** Handlers in an order that does not depend on where they stand in the source. */
function inOrder({ handlers }: DescribedService) {
  return handlers
    .flatMap((handler) => handler.patterns.map((pattern) => ({ handler, pattern })))
    .sort((a, b) =>
      a.pattern.pattern < b.pattern.pattern ? -1 : a.pattern.pattern > b.pattern.pattern ? 1 : 0
    )
}

/** `orders.total` of the service `orders` → `Total`, and `payments.settled` → `PaymentsSettled`. */
function methodName(pattern: string, service: string | undefined): string {
  const own = service === undefined ? '' : `${service}.`
  const rest =
    own !== '.' && pattern.startsWith(own) && pattern.length > own.length
      ? pattern.slice(own.length)
      : pattern
  return pascalCase(rest) || 'Method'
}

function methodOf(into: Collected, handler: DescribedHandler, pattern: string, name: string): MethodModel {
  const { kind, data, response, streams = {}, idempotent = false } = handler
  const input = messageOf(into, data, `'${pattern}': data`, `${name}Request`)
  const output: Type =
    kind === 'event' ? EMPTY : messageOf(into, response, `'${pattern}': response`, `${name}Response`)
  return {
    name,
    pattern,
    kind,
    input,
    output,
    clientStreams: kind === 'message' && streams.data === true,
    serverStreams: kind === 'message' && streams.answer === true,
    isIdempotent: idempotent
  }
}
