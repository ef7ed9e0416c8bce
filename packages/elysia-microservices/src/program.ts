#!/usr/bin/env node
/**
 * The program `elysia-microservices`. It runs the command line, which is the separate package
 * `@elysia-microservices/cli`, if that package is installed.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const NAME = '@elysia-microservices/cli'

/** The path of the command line's package, as installed beside this package, or else in the working directory. */
function installed(): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return createRequire(from).resolve(NAME)
    } catch {
      // The package is not installed there.
    }
  }
  return undefined
}

const file = installed()
if (file === undefined) {
  process.stderr.write(`The command line is a separate package: npm install --save-dev ${NAME}\n`)
  process.exitCode = 2
} else {
  const { main } = (await import(pathToFileURL(file).href)) as {
    main(args: readonly string[]): Promise<void>
  }
  await main(process.argv.slice(2))
}
