/** `protoTypes()`: the types of a `.proto` in TypeScript. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Proto } from './proto.ts'
import { ProtoFilesOf } from './proto-files.ts'
import { printTypes } from './types/print-types.ts'

/**
 * Prints the types of a `.proto`: for each service a contract, for `connect<Contract>()`, with the patterns of its
 * methods; for each message an interface of what arrives, and one with the ending `Init` of what may be sent. The types
 * are those of the shapes with which the `.proto` was loaded.
 * @throws {OptionError} `proto` was not made by `loadProto()` or `protoOf()`
 */
export function protoTypes(proto: Proto): string {
  if (!(proto instanceof ProtoFilesOf))
    throw OptionError.expected('proto', 'what loadProto() or protoOf() returns', proto)
  const { asked, shapes } = proto
  const services = asked.flatMap((file) => file.services)
  const messages = asked.flatMap((file) => file.messages)
  return `${printTypes(services, messages, shapes)}\n`
}
