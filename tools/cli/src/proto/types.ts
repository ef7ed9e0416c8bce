/** `types` of a `.proto`: prints interfaces of its messages, and contracts of its services. */
import { parseArgs } from 'node:util'
import {
  loadProto,
  type NestLoader,
  nestShapes,
  type ProtoShapes,
  protoTypes
} from '@elysia-microservices/protobuf'
import { OptionError } from '@elysia-microservices/transport/kit'
import { EXIT } from '../exit-codes.ts'
import type { Output } from '../output.ts'

/**
 * Prints the types.
 * @throws {OptionError} the command line is wrong, or a file is
 */
export async function protoContract(line: readonly string[], output: Output): Promise<number> {
  const options = {
    include: { type: 'string', multiple: true, default: [] as string[] },
    shape: { type: 'string', multiple: true, default: [] as string[] },
    loader: { type: 'string' },
    json: { type: 'boolean' }
  } as const
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...line], options, allowPositionals: true })
  )
  const nest = values.loader === undefined ? {} : nestShapes(loaderOf(values.loader))
  const shapes = Object.fromEntries(values.shape.map(shapeOf)) as ProtoShapes
  const proto = await loadProto({ files: positionals, includeDirs: values.include, ...nest, ...shapes })
  output.out(
    `// Written by \`npx elysia-microservices types ${positionals.join(' ')}\`: changes here are lost.\n\n${protoTypes(proto).trimEnd()}`
  )
  return EXIT.ok
}

function parsed<Result>(parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    throw new OptionError('arguments', `${(error as Error).message}; see --help`)
  }
}

function shapeOf(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1)
    throw new OptionError('--shape', `--shape must be name=value, such as int64=number, but is ${text}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Nest's options as JSON, where String, Number and Array are texts. */
function loaderOf(text: string): NestLoader {
  const functions: Readonly<Record<string, unknown>> = { String, Number, Array }
  try {
    return JSON.parse(text, (_, value: unknown) =>
      typeof value === 'string' && Object.hasOwn(functions, value) ? functions[value] : value
    ) as NestLoader
  } catch (error) {
    throw new OptionError(
      '--loader',
      `--loader must be JSON, such as '{"longs":"String"}': ${(error as Error).message}`
    )
  }
}
