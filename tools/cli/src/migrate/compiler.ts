/** The TypeScript compiler of the user's project, which reads sources. This package brings none. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { ts } from '@ts-morph/common'

/** The interface of the compiler. */
export type Compiler = typeof ts

/** TypeScript 7 has no such interface; Nest's command line and ts-morph bring TypeScript 6. */
const PLACES: readonly (readonly string[])[] = [
  ['typescript'],
  ['@nestjs/cli/package.json', 'typescript'],
  ['@ts-morph/common']
]

/** @throws {OptionError} neither the project nor the working directory has a compiler with an interface */
export function compilerOf(folder: string): Compiler {
  for (const from of [folder, process.cwd()])
    for (const place of PLACES) {
      const compiler = loaded(join(from, 'package.json'), place)
      if (compiler !== undefined) return compiler
    }
  throw new OptionError(
    'typescript',
    'migrate reads sources by the interface of TypeScript 5 or 6, and finds neither: npm install --save-dev @ts-morph/common, which contains TypeScript 6, or @nestjs/cli'
  )
}

function loaded(from: string, [name = '', ...inside]: readonly string[]): Compiler | undefined {
  try {
    const { resolve } = createRequire(from)
    if (inside.length > 0) return loaded(resolve(name), inside)
    const found = createRequire(from)(name) as Partial<Compiler> & { readonly ts?: Compiler }
    const compiler = found.ts ?? found
    // TypeScript 4 lacks functions that are called here.
    return typeof compiler.isSatisfiesExpression === 'function' ? (compiler as Compiler) : undefined
  } catch {
    return undefined
  }
}
